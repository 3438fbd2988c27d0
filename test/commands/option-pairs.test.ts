// Every pair of session options in every mode: permitted pairs are accepted, and others are refused by name.

import { describe, expect, it } from 'vitest'
import { EX_USAGE, JfluidError } from '../../src/base/errors.ts'
import { commandOptions } from '../../src/commands/options.ts'
import { isSampledByJvm, wholeJvmSampling } from '../../src/commands/whole-jvm-options.ts'
import type { SessionFlags } from '../../src/options/table.ts'
import { MODES, type Mode } from '../../src/profile/profile.ts'

/** The options as typed. --include, --exclude and --jdk are not listed: they are permitted with every root. */
const OPTIONS: Readonly<Record<string, Partial<SessionFlags>>> = {
  '--bba precise': { bba: 'precise' },
  '--every 1ms': { every: '1ms' },
  '--every 500bc': { every: '500bc' },
  '--sampler jfr': { sampler: 'jfr' },
  '--debug-info': { debugInfo: true },
  '--random 7': { random: 7 },
  '--sample-every 9': { sampleEvery: 9 },
  '--liveness': { liveness: true },
  '--max-overhead 5%': { scheme: 'auto', maxOverhead: 0.05 },
  '--scheme a': { scheme: 'a' },
  '--profiler x.jar': { profiler: 'x.jar' },
  '--slow p99': { slow: 'p99' },
  '--slow 5ms': { slow: 5e6 },
  '--show arg0.id': { show: ['arg0.id'] },
  '--by arg0.id': { by: 'arg0.id' },
  '--call-sites': { callSites: true },
  '--reproducible': { reproducible: true },
  '--follow-threads': { followThreads: true },
  '--trace 3': { trace: 3 },
  '--max-contexts 5000': { maxContexts: 5000 },
}
const NAMES = Object.keys(OPTIONS)

/** Returns the message of the refusal; null if the combination is accepted. */
async function refusal(mode: Mode, ...given: readonly Partial<SessionFlags>[]): Promise<string | null> {
  const plain: SessionFlags = { scheme: 'b', mode }
  const flags: SessionFlags = Object.assign({}, plain, ...given)
  try {
    if (isSampledByJvm(flags)) wholeJvmSampling(flags)
    else await commandOptions(flags)
    return null
  } catch (error) {
    if (!(error instanceof JfluidError)) throw error
    expect(error.exitCode).toBe(EX_USAGE)
    expect(error.hint).toMatch(/\.$|--|> file$/)
    return error.message
  }
}

const ROOT = { root: ['fix.Ticker.work'] }
const ALL = ['--scheme a', '--max-contexts 5000']

interface Taken {
  readonly mode: Mode
  readonly given?: Partial<SessionFlags>
  /** Options that replace `ALL`. */
  readonly all?: readonly string[]
  /** Options permitted with it, in addition to `ALL`. */
  readonly options: readonly string[]
  /** Options not permitted together. */
  readonly apart?: readonly string[]
}

const TAKEN: readonly Taken[] = [
  {
    mode: 'exact',
    options: [
      ...['--max-overhead 5%', '--slow p99', '--slow 5ms'],
      ...['--show arg0.id', '--by arg0.id', '--call-sites', '--follow-threads', '--trace 3'],
    ],
    apart: [
      '--max-overhead 5% with --call-sites',
      '--max-overhead 5% with --follow-threads',
      '--max-overhead 5% with --trace 3',
      '--max-overhead 5% with --scheme a',
      '--by arg0.id with --call-sites',
      '--call-sites with --trace 3',
    ],
  },
  {
    mode: 'locks',
    options: [
      ...['--slow p99', '--slow 5ms', '--show arg0.id', '--by arg0.id'],
      ...['--call-sites', '--follow-threads', '--trace 3'],
    ],
    apart: ['--by arg0.id with --call-sites', '--call-sites with --trace 3'],
  },
  {
    mode: 'bytecodes',
    options: [
      ...['--bba precise', '--profiler x.jar', '--slow p99', '--call-sites', '--reproducible'],
      '--follow-threads',
    ],
    // The last --slow is used.
    apart: ['--profiler x.jar with --follow-threads'],
  },
  { mode: 'count', options: ['--call-sites', '--reproducible', '--follow-threads'] },
  {
    mode: 'alloc',
    options: ['--sample-every 9', '--liveness', '--call-sites', '--reproducible', '--follow-threads'],
    apart: ['--liveness with --reproducible'],
  },
  {
    mode: 'sample',
    given: { every: '1ms' },
    all: [],
    options: ['--every 1ms', '--every 500bc', '--sampler jfr', '--debug-info'],
    // The last --every is used.
    apart: ['--every 500bc with --sampler jfr', '--every 500bc with --debug-info'],
  },
  {
    mode: 'sample',
    given: { every: '500bc' },
    options: [
      ...['--every 1ms', '--every 500bc', '--random 7', '--profiler x.jar', '--call-sites'],
      '--reproducible',
    ],
    // If the other --every is given too, it is used as the last one, and it needs no probes.
    apart: [
      ...[
        '--random 7',
        '--profiler x.jar',
        '--call-sites',
        '--reproducible',
        '--scheme a',
        '--max-contexts 5000',
      ].map((it) => `--every 1ms with ${it}`),
    ],
  },
]

const pairs = (names: readonly string[]) =>
  names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other] as const))

describe.each(TAKEN)(
  'options combined with --mode $mode $given',
  ({ mode, given = {}, all = ALL, options, apart = [] }) => {
    const refused = (...names: readonly string[]) =>
      refusal(mode, ROOT, given, ...names.map((name) => OPTIONS[name]!))

    it('the accepted options are exactly the options listed in this test, and all pairs of accepted options except the listed pairs are accepted', async () => {
      const taken: string[] = []
      for (const name of NAMES) if ((await refused(name)) === null) taken.push(name)
      expect(new Set(taken)).toEqual(new Set([...all, ...options]))
      const found: string[] = []
      for (const pair of pairs(taken)) if ((await refused(...pair)) !== null) found.push(pair.join(' with '))
      expect(new Set(found)).toEqual(new Set(apart))
    })

    it('the error for each refused pair of options names the option at fault', async () => {
      for (const pair of pairs(NAMES)) {
        const message = await refused(...pair)
        if (message === null) continue
        const named = [...pair.map((it) => it.split(' ')[0]!), '--every', 'samples are', 'profiler']
        expect(
          named.filter((it) => message.includes(it)),
          `${pair}: ${message}`,
        ).not.toEqual([])
      }
    })
  },
)

it('without a root, --mode sample accepts only --every, --sampler and --debug-info; all other modes and options need a root', async () => {
  for (const mode of MODES) {
    for (const name of NAMES) {
      const message = await refusal(mode, OPTIONS[name]!)
      if (mode === 'sample' && ['--every 1ms', '--sampler jfr', '--debug-info'].includes(name))
        expect(message).toBe(null)
      else
        expect(message, `--mode ${mode} ${name}`).toMatch(
          /no root method was given|--sampler|--every|--random|--debug-info|needs --root/,
        )
    }
  }
})
