// Messages about roots and errors contain names of the target, so control characters are replaced.

import assert from 'node:assert/strict'
import { it } from 'vitest'
import { describeRoots } from '../../src/commands/matches.ts'
import { cleanLines } from '../../src/profile/text.ts'

it('messages about roots replace escape sequences in method names by question marks', () => {
  const root = { option: 'root' as const, text: 'A\x1b[2J.b', classes: [], methods: 0, problem: null }
  const [line] = describeRoots([{ ...root, armed: true, near: ['A\x1b]0;x\x07'], unusable: [] }])
  assert.equal(
    line,
    'root A?[2J.b: its class is not loaded yet; waiting for it; similar loaded methods: A?]0;x?',
  )
})

it('error messages keep line breaks and replace escape sequences', () => {
  assert.equal(cleanLines('one\x1b[2J\ntwo\u009b'), 'one?[2J\ntwo?')
})
