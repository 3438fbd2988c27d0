import assert from 'node:assert/strict'
import { Command } from 'commander'
import { describe, it } from 'vitest'
import { EX_USAGE, JfluidError } from '../../src/base/errors.ts'
import { commandOptions, type SessionFlags, withSessionFlags } from '../../src/commands/options.ts'

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

describe('--max-overhead', () => {
  const parsed = (text: string): number | undefined => {
    const command = withSessionFlags(new Command())
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
    return command.parse(['--max-overhead', text], { from: 'user' }).opts<SessionFlags>().maxOverhead
  }

  it('is a percentage', async () => {
    assert.equal(parsed('5%'), 0.05)
    assert.equal(parsed('2.5'), 0.025)
    for (const text of ['0', '0%', '-5%', 'five', '', '1001%', '5%%']) assert.throws(() => parsed(text), text)
    assert.equal((await commandOptions(FLAGS)).maxOverhead, undefined)
    assert.equal((await commandOptions({ ...FLAGS, maxOverhead: 0.05 })).maxOverhead, 0.05)
  })

  it.each([
    [{ mode: 'count' }, /not for --mode count/],
    [{ mode: 'locks' }, /not for --mode locks/],
    [{ mode: 'sample' }, /not for --mode sample/],
    [{ waits: true }, /does not go with --waits: /],
    [{ errorBars: true }, /does not go with --error-bars: /],
    [{ followThreads: true }, /does not go with --follow-threads: /],
    [{ rare: 'watch' }, /does not go with --rare watch: /],
  ] as const)('does not go with %j', async (flags, message) => {
    const error = await commandOptions({ ...FLAGS, ...flags, maxOverhead: 0.05 }).catch((it: unknown) => it)
    assert.ok(error instanceof JfluidError)
    assert.equal(error.exitCode, EX_USAGE)
    assert.match(error.message, message)
  })
})
