import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { tail, width } from '../../src/tui/format.ts'

describe('truncation of a text that is too long', () => {
  it('a text that fits is not truncated; wide characters count as two cells', () => {
    assert.equal(tail('abc', 3, '…'), 'abc')
    assert.equal(tail('abcdef', 4, '…'), '…def')
    assert.equal(tail('abcdef', 4, '..'), '..ef')
    assert.equal(tail('注文サービス', 6, '…'), '…ビス')
  })

  it('the end of the longest class file name is found without delay', () => {
    const begun = performance.now()
    assert.equal(width(tail('x'.repeat(65_535), 60, '…')), 60)
    assert.ok(performance.now() - begun < 500, `${performance.now() - begun} ms`)
  })
})
