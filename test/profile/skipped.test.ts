import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { skippedWarnings } from '../../src/profile/skipped.ts'

describe('methods without probes', () => {
  const because = (reason: string, ...methods: string[]) => methods.map((method) => ({ method, reason }))

  it('are told with the reason, the commonest first', () => {
    const skipped = [
      ...because('native', 'a.A.one()V'),
      ...because('too long', 'a.B.x()V', 'a.B.y()V', 'a.B.z()V'),
    ]
    assert.deepEqual(skippedWarnings(skipped), [
      '4 methods could not be instrumented: 3 for "too long" (a.B.x()V, a.B.y()V, and 1 more); 1 for "native" (a.A.one()V)',
    ])
  })

  it('are summed up where there are many reasons', () => {
    const skipped = ['1', '2', '3', '4', '5', '6'].flatMap((it) => because(it, `a.A.${it}()V`))
    const [text] = skippedWarnings(skipped)
    assert.match(text ?? '', /1 for "4" \(a\.A\.4\(\)V\); the others for 2 other reasons$/)
  })

  it('are not mentioned where there are none', () => {
    assert.deepEqual(skippedWarnings([]), [])
  })
})
