// Options that a proxy accepts from a client: those of the command line, with the same checks.

import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { flagsFromAfar } from '../../src/commands/remote-flags.ts'
import { withOptions } from '../../src/options/parser.ts'
import type { SessionFlags } from '../../src/options/table.ts'
import { Malformed } from '../../src/wire/unpack.ts'

/** Returns options of a command line, in the form that is sent over the connection. */
function sent(...words: string[]): Readonly<Record<string, unknown>> {
  const command = withOptions(new Command(), 'session').exitOverride()
  return JSON.parse(JSON.stringify(command.parse(words, { from: 'user' }).opts<SessionFlags>()))
}

/** An option with its smallest and largest valid values. */
const ENDS: readonly (readonly [option: string, ...values: string[]])[] = [
  ['--root', 'a.B.c'],
  ['--region', 'a.B.c:1-2'],
  ['--include', 'a.**'],
  ['--time', 'a.B.c'],
  ['--exclude', 'a.**'],
  ['--mode', 'exact', 'locks', 'bytecodes', 'count', 'alloc', 'sample'],
  ['--bba', 'default', 'precise'],
  ['--every', '10ms', '10000bc'],
  ['--sampler', 'jfr', 'cpu'],
  ['--debug-info'],
  ['--random', '0', '999999999'],
  ['--sample-every', '1', '999999'],
  ['--liveness'],
  ['--scheme', 'a', 'B', 'adaptive'],
  ['--jdk'],
  ['--profiler', 'a.jar'],
  ['--max-overhead', '0.000001%', '1000%'],
  ['--slow', 'p99', '1ns', '999999999m'],
  ['--show', 'arg0.id', 'this.a.b().c'],
  ['--by', 'arg0'],
  ['--call-getters'],
  ['--call-sites'],
  ['--trace', '1', '1000'],
  ['--max-contexts', '1000', '16777216'],
  ['--yes'],
  ['--reproducible'],
  ['--follow-threads'],
]

describe('options accepted from a client', () => {
  it('the test covers every option of a command line', () => {
    const options = withOptions(new Command(), 'session').options.filter(({ hidden }) => !hidden)
    expect(ENDS.map(([option]) => option).sort()).toEqual(options.map(({ long }) => long).sort())
  })

  it.each(ENDS)('option %s is sent unchanged', (option, ...values) => {
    for (const words of values.length === 0 ? [[option]] : values.map((value) => [option, value])) {
      const flags = sent(...words)
      expect(flagsFromAfar(flags)).toEqual(flags)
    }
  })
})

it.each([
  ['maxContexts', 1e15],
  ['maxContexts', 999],
  ['trace', 1001],
  ['random', 1e12],
  ['sampleEvery', 0],
  ['maxOverhead', 10.5],
  ['maxOverhead', 0],
  ['slow', -1],
  ['slow', 'p98'],
  ['scheme', 'c'],
  ['mode', '__proto__'],
  ['root', 'a.B.c'],
  ['root', [1]],
  ['include', Array(10_001).fill('a.**')],
  ['jdk', 1],
])('option %s with value %j is refused', (name, value) => {
  expect(() => flagsFromAfar({ ...sent(), [name]: value })).toThrow(Malformed)
})

it('unknown options are ignored, and a missing required option is refused', () => {
  expect(flagsFromAfar({ ...sent(), duration: '5s', place: { x: 1 } })).toEqual(sent())
  expect(() => flagsFromAfar({ root: ['a.B.c'] })).toThrow(Malformed)
})
