// Other programs read the files that jfluid writes for them.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { rootTotal } from '../../src/profile/profile.ts'
import { fullName, signature } from '../../src/profile/text.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { traced } from './exported.ts'
import { METHODS, OF_EVERY_METRIC, ours, ran, ranWith, recursive, type Sums, written } from './tools.ts'

describe('go tool pprof', () => {
  /** `pprof -top`: flat is self, cum is total, in which recursion counts once. */
  async function top(file: string): Promise<Map<string, Sums>> {
    const flags = ['-top', '-unit=nanoseconds', '-nodefraction=0', '-edgefraction=0', '-nodecount=1000000']
    const { stdout } = await ran('go', 'tool', 'pprof', ...flags, file)
    const rows = stdout.matchAll(/^ *(-?\d+)\S* +\S+% +\S+% +(-?\d+)\S* +\S+% {2}(.+)$/gm)
    return new Map(
      [...rows].map(([, self, total, name]) => [name!, { self: Number(self), total: Number(total) }]),
    )
  }

  it('the tool shows the same sums per method as the profile', async () => {
    const profile = recursive()
    const found = await top(await written(profile, 'pprof'))
    assert.deepEqual(new Map([...found].sort()), new Map([...ours(profile, fullName)].sort()))
    assert.equal(found.size, METHODS)
  })

  it.each(OF_EVERY_METRIC)('the tool reads %s', async (_, make) => {
    const file = await written(make(), 'pprof', true)
    const { stdout } = await ran('go', 'tool', 'pprof', '-raw', file)
    assert.match(stdout, /Samples:\n.*calls\/count.*\n(.*\n)*Locations\n/)
    assert.match(stdout, /com\.acme\.App\.\w+/)
    assert.match(stdout, /thread:\[/)
  })
})

describe('callgrind_annotate', () => {
  async function annotated(file: string, inclusive: 'yes' | 'no'): Promise<Map<string, number>> {
    const flags = ['--auto=no', '--threshold=100', '--show-percs=no', `--inclusive=${inclusive}`]
    const { stdout, stderr } = await ran('callgrind_annotate', ...flags, file)
    assert.equal(stderr, '')
    const rows = stdout.matchAll(/^ *([\d,]+) +com\.acme\.App:(.+?)(?: \[\])?$/gm)
    return new Map([...rows].map(([, cost, name]) => [name!, Number(cost!.replaceAll(',', ''))]))
  }

  it('callgrind_annotate shows the same inclusive and self costs per method as the profile', async () => {
    const profile = recursive()
    const file = await written(profile, 'callgrind')
    const known = [...ours(profile, signature)]
    assert.deepEqual(
      new Map([...(await annotated(file, 'no'))].sort()),
      new Map(known.map(([name, { self }]) => [name, self] as const).sort()),
    )
    assert.deepEqual(
      new Map([...(await annotated(file, 'yes'))].sort()),
      new Map(known.map(([name, { total }]) => [name, total] as const).sort()),
    )
  })

  it.each(OF_EVERY_METRIC)('callgrind_annotate reads %s without a warning', async (_, make) => {
    for (const threads of [false, true]) {
      const { stdout, stderr } = await ran(
        'callgrind_annotate',
        '--tree=both',
        await written(make(), 'callgrind', threads),
      )
      assert.equal(stderr, '')
      assert.match(stdout, /com\.acme\.App\.\w+\(int\)/)
    }
  })
})

/** Its own command line, which loads a file and computes sums with the code of profiler.firefox.com. */
describe('the Firefox Profiler', () => {
  const CLI = createRequire(import.meta.url).resolve('@firefox-devtools/profiler-cli/dist/profiler-cli.js')

  interface Function {
    readonly name: string
    readonly selfSamples: number
    readonly totalSamples: number
  }
  interface Functions {
    readonly weightType: string
    readonly friendlyThreadName: string
    readonly functions: readonly Function[]
  }
  interface Markers {
    readonly flatMarkers: readonly {
      readonly name: string
      readonly start: number
      readonly duration: number
    }[]
  }

  /**
   * Makes the process load a file, and ends it when `look` has finished. Its own command `load` starts the same process, and
   * waits half a second.
   */
  async function inFirefox<T>(
    file: string,
    look: (ask: (...args: string[]) => Promise<unknown>) => Promise<T>,
  ) {
    const directory = temporaryDirectory()
    const env = { PROFILER_CLI_SESSION_DIR: directory }
    const session = ['--session', 'test']
    const holder = startProcess(process.execPath, [CLI, '--daemon', file, ...session], { env })
    const log = startProcess('tail', ['-n', '+1', '-F', join(directory, 'test.log')])
    try {
      const gone = holder.exit.then(() => assert.fail(`it did not load ${file}: ${holder.stderr()}`))
      await Promise.race([log.line(/Profile loaded successfully/), gone])
      return await look(async (...args) => {
        const { stdout } = await ranWith(env, process.execPath, CLI, ...args, ...session, '--json')
        return JSON.parse(stdout) as unknown
      })
    } finally {
      await log.kill()
      await holder.kill()
    }
  }

  it('the tool shows the same sums per method as the profile', async () => {
    const profile = recursive()
    const found = await inFirefox(await written(profile, 'firefox'), (ask) => ask('thread', 'functions'))
    const { functions } = found as Functions
    const ns = (ms: number) => Math.round(ms * 1e6)
    assert.deepEqual(
      new Map(
        functions
          .map((it) => [it.name, { self: ns(it.selfSamples), total: ns(it.totalSamples) }] as const)
          .sort(),
      ),
      new Map([...ours(profile, fullName)].sort()),
    )
    assert.equal(functions.length, METHODS)
  })

  it.each(OF_EVERY_METRIC)('the tool reads %s', async (_, make) => {
    const profile = make()
    const found = await inFirefox(await written(profile, 'firefox'), (ask) => ask('thread', 'functions'))
    const { functions, weightType } = found as Functions
    const unit = weightType === 'tracing-ms' ? 1e6 : 1
    const whole = rootTotal(profile.merged)
    const theirs = functions.reduce((sum, it) => sum + it.selfSamples, 0) * unit
    assert.ok(whole > 0 && Math.abs(theirs / whole - 1) < 1e-9, `${theirs} of ${whole}, ${weightType}`)
    assert.ok(functions.some(({ name }) => name.startsWith('com.acme.App.')))
  })

  it('the Firefox Profiler reads trace events: each thread separately, with calls in order', async () => {
    const markers = await inFirefox(await written(traced(), 'trace-events'), async (ask) => [
      await ask('thread', 'markers', '--list', '--thread', 't-0'),
      await ask('thread', 'markers', '--list', '--thread', 't-1'),
    ])
    const show = (of: unknown) =>
      (of as Markers).flatMarkers.map(
        ({ name, start, duration }) =>
          `${name.replace('com.acme.App.', '')} ${Math.round(start * 1e6)} ${Math.round(duration * 1e6)}`,
      )
    // In ns since the first event.
    assert.deepEqual(show(markers[0]), ['main 0 22', 'get 5 15', 'main 4000 9', 'main 4002 2'])
    assert.deepEqual(show(markers[1]), ['run 6 13'])
  })
})
