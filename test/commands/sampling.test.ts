// Sampling options that cannot be combined.

import { expect, it } from 'vitest'
import { inProcess } from '../support/in-process.ts'

it.each([
  [['--mode', 'exact', '--every', '1ms'], /--every is for sampling/],
  [['--mode', 'count', '--random', '5'], /--random is for sampling/],
  [['--mode', 'count', '--debug-info'], /--debug-info is for sampling/],
  [['--mode', 'sample', '--debug-info', '--every', '9bc'], /probes take samples by bytecodes/],
  [['--mode', 'sample', '--sampler', 'stacks'], /--sampler stacks was removed/],
  [
    ['--mode', 'sample', '--every', '1ms', '--random', '5'],
    /--random cannot be combined with sampling by time/,
  ],
  [['--mode', 'sample', '--every', '0bc'], /'0bc' is not a sampling interval/],
  [['--mode', 'sample', '--follow-threads'], /--follow-threads cannot be combined with sampling by time/],
  [['--mode', 'sample', '--every', '9bc', '--follow-threads'], /cannot be combined with --follow-threads/],
  [['--mode', 'sample', '--reproducible'], /--reproducible cannot be combined with sampling by time/],
  [['--mode', 'sample', '--every', '9bc', '--bba', 'precise'], /--bba is for --mode bytecodes/],
])('the sampling options %j are refused with a message of one line', async (flags, message) => {
  const ran = await inProcess('record', '1', '--root', 'A.b', '--out', '/dev/null', ...flags)
  expect(ran).toMatchObject({ code: 64, stderr: expect.stringMatching(message) })
  expect(ran.stderr).not.toMatch(/\n\s+at /)
})
