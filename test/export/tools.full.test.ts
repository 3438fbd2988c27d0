// Other programs read the files that jfluid writes for them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { traced } from './exported.ts'
import { METHODS, OF_EVERY_METRIC, ours, ran, ranWith, recursive, type Sums, written } from './tools.ts'

describe('reading a pprof export with go tool pprof', () => {
  /** Parses the output of `pprof -top`: flat is self, cum is total, in which recursion counts once. */
  async function top(file: string): Promise<Map<string, Sums>> {
    const flags = ['-top', '-unit=nanoseconds', '-nodefraction=0', '-edgefraction=0', '-nodecount=1000000']
    const { stdout } = await ran('go', 'tool', 'pprof', ...flags, file)
    const rows = stdout.matchAll(/^ *(-?\d+)\S* +\S+% +\S+% +(-?\d+)\S* +\S+% {2}(.+)$/gm)
    return new Map(
      [...rows].map(([, self, total, name]) => [name!, { self: Number(self), total: Number(total) }]),
    )
  }

  it('go tool pprof shows the same sums per method as the profile', async () => {
    const profile = recursive()
    const found = await top(await written(profile, 'pprof'))
    assert.deepEqual(new Map([...found].sort()), new Map([...ours(profile)].sort()))
    assert.equal(found.size, METHODS)
  })

  it.each(OF_EVERY_METRIC)('go tool pprof reads a profile with %s', async (_, make) => {
    const file = await written(make(), 'pprof', true)
    const { stdout } = await ran('go', 'tool', 'pprof', '-raw', file)
    assert.match(stdout, /Samples:\n.*calls\/count.*\n(.*\n)*Locations\n/)
    assert.match(stdout, /com\.acme\.App\.\w+/)
    assert.match(stdout, /thread:\[/)
  })
})

/** Replaces the removed export format callgrind. */
describe('conversion of a pprof export with go tool pprof -callgrind', () => {
  it('the callgrind file converted from a pprof export has the self time of each method', async () => {
    const profile = recursive()
    const out = join(temporaryDirectory(), 'p.callgrind')
    const flags = ['-callgrind', '-unit=nanoseconds', '-nodefraction=0', '-edgefraction=0', `-output=${out}`]
    await ran('go', 'tool', 'pprof', ...flags, await written(profile, 'pprof'))
    const text = readFileSync(out, 'utf8')
    // A name follows its number at the first use only.
    const names = new Map([...text.matchAll(/^c?fn=(\(\d+\)) (.+)$/gm)].map(([, id, name]) => [id, name]))
    const rows = [...text.matchAll(/^fn=(\(\d+\)).*\n\S+ \S+ (\d+)$/gm)]
    const found = rows.map(([, id, cost]) => [names.get(id), Number(cost)] as const)
    const self = [...ours(profile)].map(([name, sums]) => [name, sums.self] as const)
    assert.deepEqual(new Map(found.sort()), new Map(self.sort()))
    assert.equal(found.length, METHODS)
  })
})

/** Uses the command line of the Firefox Profiler, which loads a file with the code of profiler.firefox.com. */
describe('reading a trace events export with the Firefox Profiler', () => {
  const CLI = createRequire(import.meta.url).resolve('@firefox-devtools/profiler-cli/dist/profiler-cli.js')

  interface Markers {
    readonly flatMarkers: readonly {
      readonly name: string
      readonly start: number
      readonly duration: number
    }[]
  }

  /**
   * Starts the process that loads a file, and ends the process when `look` has finished. The command line's own command `load` starts the
   * same process, and waits half a second.
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

  it('the Firefox Profiler reads each thread of a trace events export separately, with its calls in order', async () => {
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
