// The tools that formats are made for, reading what we write.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, it } from 'vitest'
import { hotMethods } from '../../src/cct/snapshot.ts'
import { exportToFile, formatNamed } from '../../src/export/formats.ts'
import { nameOf, type Profile, rootTotal } from '../../src/profile/profile.ts'
import { fullName, signature } from '../../src/profile/text.ts'
import { chain, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { mavenArtifact } from '../support/maven.ts'
import { PROFILES, traced, twoThreads } from './exported.ts'

const METHODS = 12
const SEED = 19

/** A tree whose methods recur in each other, with times of some seconds. */
function recursive(): Profile {
  const tree = randomTree(3000, METHODS, seeded(SEED))
  const names = Array.from({ length: METHODS }, (_, id) => `m${id} 1x 1ns`).join(' ')
  return profileOfTree(tree, profileOf(names).methodNames, { threads: [{ id: 21, name: 'worker-1', tree }] })
}

const OF_EVERY_METRIC: readonly (readonly [string, () => Profile])[] = [
  ['times', recursive],
  ['threads', twoThreads],
  ...Object.entries(PROFILES),
]

async function written(profile: Profile, format: string, threads = false): Promise<string> {
  const of = formatNamed(format)
  const file = join(temporaryDirectory(), `p${of.extension}`)
  await exportToFile(profile, of, file, { threads })
  return file
}

async function ran(command: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return await ranWith({}, command, ...args)
}

async function ranWith(
  env: { readonly [name: string]: string },
  command: string,
  ...args: string[]
): Promise<{ stdout: string; stderr: string }> {
  try {
    return await promisify(execFile)(command, args, {
      maxBuffer: 64 << 20,
      env: { ...process.env, LC_ALL: 'C', ...env },
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new Error(`${command} is not on PATH: the full tests read exports with it`)
    }
    throw error
  }
}

interface Sums {
  readonly self: number
  readonly total: number
}

/** Of all methods, by name. */
function ours(profile: Profile, nameBy: typeof signature): Map<string, Sums> {
  return new Map(
    hotMethods(profile.merged).map(({ method, self, total }) => [
      nameBy(nameOf(profile.methodNames, method)),
      { self, total },
    ]),
  )
}

describe('go tool pprof', () => {
  /** `pprof -top`: flat is self, cum is total, which counts recursion once. */
  async function top(file: string): Promise<Map<string, Sums>> {
    const flags = ['-top', '-unit=nanoseconds', '-nodefraction=0', '-edgefraction=0', '-nodecount=1000000']
    const { stdout } = await ran('go', 'tool', 'pprof', ...flags, file)
    const rows = stdout.matchAll(/^ *(-?\d+)\S* +\S+% +\S+% +(-?\d+)\S* +\S+% {2}(.+)$/gm)
    return new Map(
      [...rows].map(([, self, total, name]) => [name!, { self: Number(self), total: Number(total) }]),
    )
  }

  it('sums up methods as we do', async () => {
    const profile = recursive()
    const found = await top(await written(profile, 'pprof'))
    assert.deepEqual(new Map([...found].sort()), new Map([...ours(profile, fullName)].sort()))
    assert.equal(found.size, METHODS)
  })

  it.each(OF_EVERY_METRIC)('reads %s', async (_, make) => {
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

  it('sums up methods as we do, inclusive and not', async () => {
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

  it.each(OF_EVERY_METRIC)('reads %s without a warning', async (_, make) => {
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

/** Its own command line, which loads a file and sums it up with the code of profiler.firefox.com. */
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
   * Has the process that holds a file load it, and ends it when `look` is through. Its own command `load` starts the same one, and gives it half
   * a second.
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

  it('sums up methods as we do', async () => {
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

  it.each(OF_EVERY_METRIC)('reads %s', async (_, make) => {
    const profile = make()
    const found = await inFirefox(await written(profile, 'firefox'), (ask) => ask('thread', 'functions'))
    const { functions, weightType } = found as Functions
    const unit = weightType === 'tracing-ms' ? 1e6 : 1
    const whole = rootTotal(profile.merged)
    const theirs = functions.reduce((sum, it) => sum + it.selfSamples, 0) * unit
    assert.ok(whole > 0 && Math.abs(theirs / whole - 1) < 1e-9, `${theirs} of ${whole}, ${weightType}`)
    assert.ok(functions.some(({ name }) => name.startsWith('com.acme.App.')))
  })

  it('reads trace events: a thread each, calls in their order', async () => {
    const markers = await inFirefox(await written(traced(), 'trace-events'), async (ask) => [
      await ask('thread', 'markers', '--list', '--thread', 't-0'),
      await ask('thread', 'markers', '--list', '--thread', 't-1'),
    ])
    const show = (of: unknown) =>
      (of as Markers).flatMarkers.map(
        ({ name, start, duration }) =>
          `${name.replace('com.acme.App.', '')} ${Math.round(start * 1e6)} ${Math.round(duration * 1e6)}`,
      )
    // In ns since the first of them.
    assert.deepEqual(show(markers[0]), ['main 0 22', 'get 5 15', 'main 4000 9', 'main 4002 2'])
    assert.deepEqual(show(markers[1]), ['run 6 13'])
  })
})

describe('the NetBeans profiler', () => {
  /** The part of it that is published; VisualVM's is the same under other names. */
  const PROFILER = {
    coordinates: 'org.netbeans.modules:org-netbeans-lib-profiler:RELEASE220',
    sha256: '338939e54e7564f3c179e68e6b75a2ccf8100ae5863f2c8e7b33374af8bc9089',
  }

  let read: (...files: string[]) => Promise<string>

  beforeAll(async () => {
    const jar = await mavenArtifact(PROFILER)
    const classes = temporaryDirectory()
    const source = fileURLToPath(new URL('nps/ReadSnapshot.java', import.meta.url))
    await ran(newest.javac, '-cp', jar, '-d', classes, source)
    const path = [classes, jar].join(delimiter)
    read = async (...files) => (await ran(newest.java, '-cp', path, 'ReadSnapshot', ...files)).stdout
  }, 600_000)

  it('reads the tree and sums up methods as we do', async () => {
    const profile = recursive()
    // In microseconds what ours are in nanoseconds: nothing is rounded.
    const scaled = {
      ...profile.merged.metrics,
      selfNs: profile.merged.metrics.selfNs!.map((ns) => ns * 1000),
    }
    const tree = { ...profile.merged, metrics: scaled }
    const said = await read(
      await written({ ...profile, merged: tree, threads: [{ id: 7, name: 'worker', tree }] }, 'nps'),
    )
    const hot = hotMethods(profile.merged).map(({ method, calls, self, total }) => {
      const name = nameOf(profile.methodNames, method)
      return `flat ${calls} ${total} ${self} ${name.class}\t${name.method}\t${name.descriptor}`
    })
    const lines = said.split('\n')
    assert.deepEqual(lines.filter((line) => line.startsWith('flat')).sort(), hot.sort())
    const contexts = lines.filter((line) => line.startsWith('tree'))
    const depth = new Int32Array(tree.count)
    const { calls, totalNs } = profile.merged.metrics
    assert.deepEqual(
      contexts,
      Array.from({ length: tree.count }, (_, node) => {
        const above = tree.parent[node]!
        depth[node] = above < 0 ? 1 : depth[above]! + 1
        const name = fullName(nameOf(profile.methodNames, tree.method[node]!))
        return `tree ${depth[node]} ${calls![node]} ${totalNs![node]} ${name}`
      }),
    )
  })

  it('reads every kind of profile that the format can say, and stacks as deep as they get', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const kinds = [
      ...OF_EVERY_METRIC.filter(([name]) => !/^(bytecodes|samples|bytes)$/.test(name)).map(([, make]) =>
        make(),
      ),
      deep,
      profileOf(''),
    ]
    const files = await Promise.all(kinds.map((profile) => written(profile, 'nps')))
    const said = await read(...files)
    assert.equal(said.match(/^file /gm)?.length, kinds.length)
    assert.match(said, /^tree 1000 1 2 com\.acme\.App\.deep$/m)
  })
})
