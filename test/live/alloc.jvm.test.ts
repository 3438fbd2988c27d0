// --mode alloc: every allocation by context and class, compared with computed values and the JVM's counter per thread.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { recorderSetup, recordings } from '../../src/attach/flight-recorder.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startRecording,
} from '../support/jfluid.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'
import { until } from './remains.ts'

const ROOT = 'fix.Allocs.root'
const N = 12

type Counts = Record<string, readonly [objects: number, bytes: number]>

/** Returns the allocations of one method, summed over all contexts whose path ends with the given methods. */
function allocatedIn({ merged }: JsonProfile, ...path: readonly string[]): Counts {
  const counts: Record<string, [number, number]> = {}
  const visit = (node: JsonNode, above: readonly string[]): void => {
    const here = [...above, `${node.class.replace('fix.', '')}.${node.method}`]
    if (here.slice(-path.length).join() === path.join()) {
      for (const { class: name, objects, bytes } of node.allocated!) {
        const known = counts[name] ?? [0, 0]
        counts[name] = [known[0] + objects, known[1] + bytes]
      }
    }
    for (const child of node.children) visit(child, here)
  }
  for (const node of merged) visit(node, [])
  return counts
}

const REST = '(not attributed)'

function addsUp(node: JsonNode): boolean {
  if (node.method === REST) return node.bytes === node.totalBytes && node.children.length === 0
  const own = node.allocated!.reduce((sum, it) => sum + it.bytes, 0)
  const below = node.children.reduce((sum, it) => sum + it.totalBytes!, 0)
  return node.bytes === own && node.totalBytes === own + below && node.children.every(addsUp)
}

// One call of the root with n = 12. An object has a header of 12 bytes and its fields, an array has 16 bytes and its elements. Each is
// rounded up to a multiple of 8: the sum of the rounded 16 + 4 i over i < 12 is 480.
const INSTANCES: Counts = {
  'fix.Allocs$Point': [12, 12 * 24],
  'fix.Allocs$Fragile': [12, 12 * 24], // including objects whose constructor fails
  'fix.Allocs$Late': [12, 12 * 16],
  'java.lang.StringBuilder': [8, 8 * 24],
  'java.lang.Object': [4, 4 * 16],
}
const ARRAYS: Counts = {
  'byte[]': [12, 16 + 8 * 24 + 3 * 32],
  'boolean[]': [12, 12 * 24],
  'char[]': [12, 16 + 4 * 24 + 4 * 32 + 3 * 40],
  'short[]': [12, 12 * 24],
  'int[]': [12 + 72, 12 * 48 + 6 * 480],
  'float[]': [12, 12 * 40],
  'long[]': [12, 12 * 16 + 8 * 66],
  'double[]': [12, 12 * 88],
  'fix.Allocs$Point[]': [12, 480],
  'int[][]': [12 + 24, 36 * 32],
  'int[][][]': [12, 12 * 24],
  'java.lang.Object[][]': [12, 12 * 16],
}
const CALLS: Counts = {
  'fix.Allocs$Point': [24, 24 * 24],
  'fix.Allocs$Point[]': [12, 12 * 40],
  'int[]': [12 + 12 + 12 + 24, 36 * 24 + 24 * 48], // int[n], its clone, the dimensions, and the two rows of each int[][]
  'int[][]': [12, 12 * 24],
  'java.lang.Class[]': [12, 12 * 16],
  'java.lang.Object[]': [12, 12 * 16],
  'java.lang.Integer': [12, 12 * 16],
  'java.lang.Long': [12, 12 * 24],
  'java.lang.Double': [12, 12 * 24],
  'java.lang.Character': [12, 12 * 16],
  'fix.Allocs$$Lambda': [12, 12 * 16],
  'java.lang.String': [12, 12 * 24],
  'byte[]': [12, 12 * 32],
}

/** A text of n characters is a String of 24 bytes and an array of 16 + n bytes, rounded up. "" + text allocates no array. */
const TEXTS: Counts = {
  'java.lang.String': [36, 36 * 24],
  'byte[]': [24, 24 * 24], // "100", "text0!"
  'fix.Allocs$Pair': [12, 12 * 24],
  'fix.Allocs$Nothing': [12, 12 * 16],
}

describe.each(newestOrAll)('recorded allocations on JDK $version', (jdk) => {
  let classes: string
  let java: JavaProcess
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Allocs')
    java = startJava(jdk, ['-cp', classes, 'fix.Allocs', 'serve'])
    await java.line(/ready/)
  })

  /** Returns the names of jfluid's recordings that run in the JVM. */
  const own = async (): Promise<string[]> =>
    (await recordings(await openAttachSocket(java.pid))).filter((it) => it.startsWith('jfluid-'))

  it('every kind of allocation is counted in its calling context', async () => {
    const file = join(temporaryDirectory('jfluid-alloc-'), 'p.jfluid')
    const program = [jdk.java, '-cp', classes, 'fix.Allocs', 'root', String(N), '1']
    const ran = await jfluid('run', '--root', ROOT, '--record', file, '--mode', 'alloc', '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const profile = await readProfileJson(file)
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
    const root = 'Allocs.root'
    expect(allocatedIn(profile, root, 'Allocs.instances')).toEqual(INSTANCES)
    expect(allocatedIn(profile, root, 'Allocs.arrays')).toEqual(ARRAYS)
    expect(allocatedIn(profile, root, 'Allocs.calls')).toEqual(CALLS)
    expect(allocatedIn(profile, 'Allocs.calls', 'Allocs$Point.clone')).toEqual({
      'fix.Allocs$Point': [12, 12 * 24],
    })
    expect(allocatedIn(profile, root, 'Allocs.texts')).toEqual(TEXTS)
    expect(allocatedIn(profile, 'Allocs.texts', 'Allocs$Pair.toString')).toEqual({
      'java.lang.String': [12, 12 * 24],
      'byte[]': [12, 12 * 40], // "Pair[a=10, b=text]"
    })
    expect(allocatedIn(profile, 'Allocs.texts', 'Allocs$Nothing.toString')).toEqual({})
    // The clone is reported once, in the method that creates it.
    const copy = 'Allocs$Origin.copy'
    expect(allocatedIn(profile, root, copy)).toEqual({ 'fix.Allocs$Origin': [12, 12 * 16] })
    expect(allocatedIn(profile, copy, 'Allocs$Derived.clone')).toEqual({
      'fix.Allocs$Derived': [12, 12 * 16],
    })
    expect(allocatedIn(profile, 'Allocs.deeper', 'Allocs.arrays')['boolean[]']).toEqual([6, 6 * 24])
    // The first `new` runs the class initializer, once.
    expect(allocatedIn(profile, 'Allocs.instances', 'Allocs$Late.<clinit>')).toEqual({ 'long[]': [1, 96] })
    expect(allocatedIn(profile, 'Allocs$Fragile.<init>', 'Allocs$Fragile.checked')).toEqual({
      'java.lang.IllegalArgumentException': [4, 4 * 40],
    })
    expect(profile.merged.every(addsUp)).toBe(true)
    expect(profile.classes!.reduce((sum, it) => sum + it.bytes, 0)).toBe(profile.allocation!.siteBytes)
    expect(profile.methods.filter((it) => it.descriptor === '').map((it) => it.method)).toEqual([REST])
    // The JVM's counter also contains allocations for linking and class loading.
    expect(profile.allocation!.notAttributedBytes).toBeGreaterThan(0)
  })

  it('the total of a root equals the bytes that the JVM counts for its threads, and the rows of the root sum to that total exactly', async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Allocs.mixed', '--mode', 'alloc')
    await recording.started
    let told = 0
    for (let call = 0; call < 5; call++) {
      const line = await ask(java, 'mixed 20000', /mixed: jvm/)
      told += Number(line.split(' ').at(-1))
    }
    const { allocation, instrumentation, merged } = await recording.stop()
    expect(instrumentation.gaps).toBe(0)
    const [root, ...further] = merged
    expect(further).toEqual([])
    expect(root!.calls).toBe(5)
    expect(Math.abs(root!.totalBytes! / told - 1)).toBeLessThan(0.01)
    expect(root!.totalBytes).toBe(allocation!.jvmBytes)
    expect(addsUp(root!)).toBe(true)
    const rest = root!.children.find((it) => it.method === REST)!
    expect(rest).toMatchObject({ calls: 0, objects: 0, bytes: allocation!.notAttributedBytes })
    expect(allocation!.siteBytes + rest.bytes!).toBe(root!.totalBytes)
    // 20,000 arrays of 56 bytes, and the array that contains them.
    const own = root!.children.find((it) => it.method === 'own')!
    expect(own.totalBytes).toBe(5 * (20_000 * 56 + 16 + 20_000 * 4))
    // The arrays that the JDK allocates for the list belong to no site of the program.
    const list = root!.children.find((it) => it.method === 'listOf')!
    expect(list.bytes).toBe(5 * 24)
  })

  itInFull(
    'bytes of JDK methods are estimated from samples of the flight recorder, below the methods that called them',
    async () => {
      const recording = startRecording(java.pid, '--root', 'fix.Allocs.mixed', '--mode', 'alloc')
      await recording.started
      // The recorder of the JVM starts a moment after the session. Calls before that would have no samples.
      await until(async () => (await own()).length > 0)
      const latest = performance.now() + 5000
      while (performance.now() < latest) await ask(java, 'mixed 20000', /mixed: jvm/)
      const { allocation, merged, warnings } = await recording.stop()
      expect(warnings.filter((it) => /not divided/.test(it))).toEqual([])
      const root = merged[0]!
      expect(addsUp(root)).toBe(true)
      expect(root.totalBytes).toBe(allocation!.jvmBytes)
      const { siteBytes, sampledBytes, notAttributedBytes } = allocation!
      expect(siteBytes + sampledBytes + notAttributedBytes).toBe(root.totalBytes)
      expect(sampledBytes).toBeGreaterThan(notAttributedBytes)
      const maps = root.children.find((it) => it.method === 'mapOf')!
      const put = maps.children.find((it) => it.class === 'java.util.HashMap')!
      expect(put).toMatchObject({ method: 'put', known: 'sampled', calls: 0 })
      expect(put.allocated!.map((it) => it.class)).toContain('java.util.HashMap$Node')
      // 20,000 nodes, and the tables of 16 to 32,768 references.
      const each = 20_000 * 32 + 12 * 16 + 4 * (65_536 - 16)
      expect(Math.abs(put.totalBytes! - root.calls * each)).toBeLessThan(5 * put.sdNs!)
    },
  )

  itInFull(
    'after a damaged recording file, the JVM stops sampling, and a warning states that the bytes are not divided',
    async () => {
      const connection = await openAttachSocket(java.pid)
      const recording = startRecording(java.pid, '--root', 'fix.Allocs.mixed', '--mode', 'alloc')
      await recording.started
      await until(async () => (await own()).length > 0)
      expect(await own()).toHaveLength(1)
      const { repository } = await recorderSetup(connection)
      const [file] = readdirSync(repository!).sort().slice(-1)
      const damaged = readFileSync(join(repository!, file!))
      damaged.writeBigInt64BE(1n, 8) // the size in the header
      writeFileSync(join(repository!, 'damaged.jfr'), damaged)
      try {
        while ((await own()).length > 0) await ask(java, 'mixed 20000', /mixed: jvm/)
      } finally {
        rmSync(join(repository!, 'damaged.jfr'), { force: true })
      }
      const { warnings } = await recording.stop()
      expect(warnings.filter((it) => /not divided|not stopped/.test(it))).toEqual([
        'the bytes of methods without probes are not divided among these methods: cannot read the flight recording: the header of a chunk contradicts itself',
      ])
    },
  )

  itInFull('--reproducible creates identical files in two runs of a program', async () => {
    const files = ['a', 'b'].map((it) => join(temporaryDirectory('jfluid-alloc-'), `${it}.jfluid`))
    const record = async (file: string): Promise<JsonProfile> => {
      const program = [jdk.java, '-cp', classes, 'fix.Allocs', 'root', String(N), '2']
      const flags = ['--mode', 'alloc', '--reproducible', '--record', file]
      const ran = await jfluid('run', '--root', ROOT, ...flags, '--', ...program)
      expect(ran.code, ran.stderr).toBe(0)
      return await readProfileJson(file)
    }
    const profiles: JsonProfile[] = []
    for (const file of files) {
      // If the client gets no processor for half a second, threads do not wait for it: the profile reports gaps and a warning.
      let profile = await record(file)
      for (let again = 0; again < 2 && profile.instrumentation.gaps > 0; again++) profile = await record(file)
      expect(profile.instrumentation.gaps).toBe(0)
      profiles.push(profile)
    }
    expect(profiles[1]).toEqual(profiles[0])
    const [one, other] = files.map((it) => readFileSync(it))
    expect(one!.equals(other!)).toBe(true)
  })

  itInFull(
    'the total that --sample-every estimates differs from the true total only by the sampling error',
    async () => {
      const flags = ['--mode', 'alloc', '--sample-every', '16']
      const recording = startRecording(java.pid, '--root', ROOT, ...flags)
      await recording.started
      for (let call = 1; call <= 300; call++) await ask(java, `root ${N}`, /done/)
      const profile = await recording.stop()
      expect(profile.allocation).toMatchObject({ sampleEvery: 16 })
      const points = allocatedIn(profile, 'Allocs.root', 'Allocs.instances')['fix.Allocs$Point']!
      // 225 of the 3,600 objects are recorded. The standard deviation is 15 objects, i.e. 7 %.
      expect(points[0] % 16).toBe(0)
      expect(Math.abs(points[0] / 3600 - 1)).toBeLessThan(0.35)
      expect(points[1]).toBe(points[0] * 24)
      const each = profile.merged[0]!
      expect(each.calls).toBe(300) // every method call is counted
    },
  )

  itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')(
    'allocations of virtual threads are counted, although the JVM itself does not count these allocations',
    async () => {
      const recording = startRecording(java.pid, '--root', ROOT, '--mode', 'alloc')
      await recording.started
      await ask(java, `virtual ${N}`, /done/)
      const profile = await recording.stop()
      expect(profile.instrumentation.gaps).toBe(0)
      expect(allocatedIn(profile, 'Allocs.root', 'Allocs.arrays')).toEqual(ARRAYS)
      expect(profile.allocation).not.toHaveProperty('jvmBytes')
    },
  )

  // Must be the last test: the counters stay disabled.
  itInFull(
    'if the allocation counters of the JVM are disabled, the profile contains no total of the JVM',
    async () => {
      await ask(java, 'uncounted 0', /done/)
      const recording = startRecording(java.pid, '--root', ROOT, '--mode', 'alloc')
      await recording.started
      await ask(java, `root ${N}`, /done/)
      const { allocation } = await recording.stop()
      expect(allocation!.siteBytes).toBeGreaterThan(0)
      expect(allocation).not.toHaveProperty('jvmBytes')
    },
  )
})
