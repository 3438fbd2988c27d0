import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { EX_USAGE, JfluidError } from '../../src/base/errors.ts'
import { commandOptions, type SessionFlags } from '../../src/commands/options.ts'

const FLAGS: SessionFlags = { root: ['com.acme.App.main'], scheme: 'b', lookAhead: 32, mode: 'exact' }

describe('--error-bars', () => {
  it('is off unless asked for', async () => {
    assert.equal((await commandOptions(FLAGS)).errorBars, undefined)
    assert.equal((await commandOptions({ ...FLAGS, errorBars: true })).errorBars, true)
  })

  it.each([
    [{ mode: 'count' }, /not for --mode count/],
    [{ mode: 'bytecodes' }, /not for --mode bytecodes/],
    [{ followThreads: true }, /does not go with --follow-threads: /],
    [{ rare: 'watch' }, /does not go with --rare watch: /],
  ] as const)('does not go with %j', async (flags, message) => {
    const error = await commandOptions({ ...FLAGS, ...flags, errorBars: true }).catch((it: unknown) => it)
    assert.ok(error instanceof JfluidError)
    assert.equal(error.exitCode, EX_USAGE)
    assert.match(error.message, message)
  })
})
