// How samples are taken: what does not go with what.

import { expect, it } from 'vitest'
import { inProcess } from '../support/in-process.ts'

it.each([
  [['--mode', 'exact', '--every', '1ms'], /--every says how samples are taken/],
  [['--mode', 'count', '--random', '5'], /--random says how samples are taken/],
  [['--mode', 'count', '--debug-info'], /--debug-info says how samples are taken/],
  [['--mode', 'sample', '--debug-info', '--every', '9bc'], /probes take samples by bytecodes/],
  [['--mode', 'sample', '--sampler', 'stacks'], /--sampler stacks was removed/],
  [
    ['--mode', 'sample', '--every', '1ms', '--random', '5'],
    /--random is for instrumented methods, and samples by time need none/,
  ],
  [['--mode', 'sample', '--every', '0bc'], /'0bc' is not an interval/],
  [['--mode', 'sample', '--follow-threads'], /--follow-threads is for instrumented methods/],
  [['--mode', 'sample', '--every', '9bc', '--follow-threads'], /does not go with --follow-threads/],
  [['--mode', 'sample', '--reproducible'], /--reproducible is for instrumented methods/],
  [['--mode', 'sample', '--every', '9bc', '--bba', 'precise'], /--bba says how --mode bytecodes counts/],
])('%j is refused in a line', async (flags, message) => {
  const ran = await inProcess('record', '1', '--root', 'A.b', '--out', '/dev/null', ...flags)
  expect(ran).toMatchObject({ code: 64, stderr: expect.stringMatching(message) })
  expect(ran.stderr).not.toMatch(/\n\s+at /)
})
