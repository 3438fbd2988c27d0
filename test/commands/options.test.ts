import assert from 'node:assert/strict'
import { Command } from 'commander'
import { describe, it } from 'vitest'
import { EX_USAGE, JfluidError } from '../../src/base/errors.ts'
import { commandOptions } from '../../src/commands/options.ts'
import { withOptions } from '../../src/options/parser.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const FLAGS: SessionFlags = { root: ['com.acme.App.main'], scheme: 'b', mode: 'exact' }

describe('the option --max-overhead', () => {
  const parsed = (text: string): number | undefined => {
    const command = withOptions(new Command(), 'session')
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
    return command.parse(['--max-overhead', text], { from: 'user' }).opts<SessionFlags>().maxOverhead
  }

  it('--max-overhead accepts a positive percentage', async () => {
    assert.equal(parsed('5%'), 0.05)
    assert.equal(parsed('2.5'), 0.025)
    for (const text of ['0', '0%', '-5%', 'five', '', '1001%', '5%%']) assert.throws(() => parsed(text), text)
    assert.equal((await commandOptions(FLAGS)).maxOverhead, undefined)
    for (const scheme of ['auto', 'adaptive'] as const)
      assert.equal((await commandOptions({ ...FLAGS, scheme, maxOverhead: 0.05 })).maxOverhead, 0.05)
  })

  it.each([
    [{ mode: 'count' }, /not with --mode count/],
    [{ mode: 'locks' }, /not with --mode locks/],
    [{ mode: 'sample', every: '9bc' }, /not with --mode sample/],
    [{ followThreads: true }, /cannot be combined with --follow-threads: /],
    [{ trace: 3 }, /cannot be combined with --trace: /],
    [{ scheme: 'a' }, /--scheme a, which times all methods/],
    [{ scheme: 'b' }, /--scheme b, which times all methods/],
  ] as const)('--max-overhead cannot be combined with %j', async (flags, message) => {
    const asked = commandOptions({ ...FLAGS, scheme: 'auto', ...flags, maxOverhead: 0.05 })
    const error = await asked.catch((it: unknown) => it)
    assert.ok(error instanceof JfluidError)
    assert.equal(error.exitCode, EX_USAGE)
    assert.match(error.message, message)
    if ('scheme' in flags) assert.match(error.hint ?? '', /^Use --scheme adaptive, /)
  })
})

describe('the options for values of root calls', () => {
  const refusal = async (flags: SessionFlags): Promise<string> => {
    const error = await commandOptions({ ...FLAGS, ...flags }).catch((it: unknown) => it)
    assert.ok(error instanceof JfluidError)
    assert.equal(error.exitCode, EX_USAGE)
    return error.message
  }

  it('--show keeps slow calls above their p99, unless --slow names a time', async () => {
    const { show, slow, by } = await commandOptions({ ...FLAGS, show: ['arg0.id', 'this.name'] })
    assert.deepEqual([show, slow, by], [['arg0.id', 'this.name'], 'p99', undefined])
    assert.equal((await commandOptions({ ...FLAGS, show: ['arg0.id'], slow: 5e6 })).slow, 5e6)
    assert.equal((await commandOptions({ ...FLAGS, by: 'arg0.id' })).slow, undefined)
  })

  it('at most four values are shown', async () => {
    const show = ['arg0', 'arg1', 'arg2', 'arg3', 'this.name']
    assert.match(await refusal({ show }), /^--show was given 5 times: at most 4 values/)
  })

  it('--call-getters needs a value', async () => {
    assert.match(await refusal({ callGetters: true }), /^--call-getters needs --show or --by/)
    assert.equal((await commandOptions({ ...FLAGS, by: 'arg0.id', callGetters: true })).callGetters, true)
  })
})

describe('the option --slow', () => {
  const parsed = (text: string): SessionFlags['slow'] => {
    const command = withOptions(new Command(), 'session')
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
    return command.parse(['--slow', text], { from: 'user' }).opts<SessionFlags>().slow
  }

  it('--slow accepts p99 or a duration, converted to ns, and threw', async () => {
    assert.deepEqual(['p99', 'P99', '50ms', '1.5s', '250us', '7µs', '80ns', '2m'].map(parsed), [
      ...['p99', 'p99', 50e6, 1.5e9, 250e3, 7e3, 80, 120e9],
    ])
    assert.deepEqual(['threw', 'p99,threw', '50ms,THREW'].map(parsed), [
      ...['threw', ['p99', 'threw'], [50e6, 'threw']],
    ])
    for (const text of [
      '',
      'p98',
      '50',
      '0ms',
      '-5ms',
      'ms',
      '1e3ms',
      '5 ms',
      'threw,p99',
      'p99,50ms',
      'p99,threw,threw',
    ]) {
      assert.throws(() => parsed(text), /It is p99, a time as 50ms, 250us or 1\.5s, threw/, text)
    }
    assert.equal((await commandOptions({ ...FLAGS, slow: 5e6 })).slow, 5e6)
  })

  it.each([
    [{ mode: 'count' }, /--mode count does not record/],
    [{ mode: 'alloc' }, /--mode alloc does not record/],
    [{ mode: 'sample', every: '9bc' }, /--mode sample does not record/],
    [{ mode: 'bytecodes' }, /--mode bytecodes, which records no times/],
  ] as const)('--slow with a duration cannot be combined with %j', async (flags, message) => {
    const error = await commandOptions({ ...FLAGS, ...flags, slow: 5e6 }).catch((it: unknown) => it)
    assert.ok(error instanceof JfluidError)
    assert.equal(error.exitCode, EX_USAGE)
    assert.match(error.message, message)
  })
})
