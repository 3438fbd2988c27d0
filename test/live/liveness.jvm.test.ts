// --mode alloc --liveness: live objects per context and class, in a program that prints which objects it references.

import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  AUTOSAVED,
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  recordedSoFar,
  startRecording,
} from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { jcmd } from './remains.ts'

const ROOT = 'fix.Leaks.root'
const N = 30

type Alive = Record<string, readonly [objects: number, bytes: number]>

/**
 * Returns the number and bytes of live objects that the method itself has allocated, keyed by class, and their ages. Skips classes without
 * live objects.
 */
function aliveOf({ merged }: JsonProfile, method: string): { alive: Alive; ages: number[] } {
  const alive: Record<string, [number, number]> = {}
  const ages: number[] = []
  const visit = (node: JsonNode): void => {
    if (node.method === method) {
      for (const { class: name, liveObjects, liveBytes, age } of node.allocated!) {
        if (liveObjects === 0) continue
        alive[name] = [liveObjects!, liveBytes!]
        ages.push(age!)
      }
    }
    node.children.forEach(visit)
  }
  merged.forEach(visit)
  return { alive, ages }
}

// For i < 30: 15 objects keep an Inner and 15 keep two Nodes, 20 keep a byte[i], and all keep an int[i] and an Object[2][3]. The sum of 16
// + 4 i over all i, each rounded up to a multiple of 8, is 2,280. The sum of 16 + i over all i that are not divisible by 3, rounded in the
// same way, is 696: six times 24, five times 32, five times 40, four times 48.
const KEPT: Alive = {
  'fix.Leaks$Outer': [30, 30 * 24],
  'fix.Leaks$Inner': [15, 15 * 16],
  'fix.Leaks$Node': [30, 30 * 16],
  'int[]': [30, 2280],
  'byte[]': [20, 696],
  'java.lang.Object[][]': [30, 30 * 24],
  'java.lang.Object[]': [60, 60 * 32],
}

describe.each(newestOrAll)('live objects on JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Leaks')
  })
  const record = async (root: string, ...flags: string[]) => {
    const java = startJava(jdk, ['-Xmx64m', '-cp', classes, 'fix.Leaks'])
    await java.line(/ready/)
    const recording = startRecording(java.pid, '--root', root, '--mode', 'alloc', '--liveness', ...flags)
    await recording.started
    let asked = 0
    const ask = async (...lines: string[]) => {
      for (const line of lines) java.send(line)
      asked += lines.length
      await java.line(/done/, asked)
    }
    return { java, recording, ask }
  }

  it('referenced objects are reported as live, released objects are not, and the agent keeps no object alive', async () => {
    const { java, recording, ask } = await record(ROOT, '--sample-every', '1')
    await ask(`root ${N}`, 'gc', 'gc')
    expect(await jcmd(java.pid, 'GC.class_histogram')).toContain('JFluid1Survivors$Survivor')
    const profile = await recording.stop()
    expect(await jcmd(java.pid, 'GC.class_histogram')).not.toContain('JFluid1Survivors')
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
    const { alive, ages } = aliveOf(profile, 'keeps')
    expect(alive).toEqual(KEPT)
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(2)
    expect(aliveOf(profile, 'drops').alive).toEqual({})
    expect(aliveOf(profile, 'copy').alive).toEqual({ 'fix.Leaks$Node': [N, N * 16] })
    const byClass = profile.classes!.find((it) => it.class === 'fix.Leaks$Node')!
    expect(byClass).toMatchObject({ liveObjects: 2 * N, liveBytes: 2 * N * 16 })
    expect(profile.allocation!.liveness!.untracked).toBe(0)
    const { stdout } = await jfluid('report', recording.file)
    expect(stdout).toMatch(/Objects alive at the end, by context, 8 of 8/)
    expect(stdout).toContain('in fix.Leaks$Node.copy < fix.Leaks.keeps < fix.Leaks.root')
  })

  itInFull(
    'slots of dead objects are reused, and the number of objects without a slot is reported',
    async () => {
      const { recording, ask } = await record('fix.Leaks.fills', '--sample-every', '1', ...AUTOSAVED)
      const alive = async (objects: number) => {
        await recordedSoFar(recording, ({ merged }) => merged[0]?.liveObjects === objects)
      }
      await ask('fills 40000')
      await alive(40_000)
      await ask('forget', 'gc')
      await alive(0) // the scan that finds the dead objects makes their slots free
      await ask('fills 70000', 'gc')
      const profile = await recording.stop()
      const [fills] = profile.merged
      expect(fills!.liveObjects).toBe(65536)
      expect(profile.allocation!.liveness!.untracked).toBe(70000 - 65536)
      expect(profile.warnings.join()).toContain('4464 objects were not tracked')
      // The growing list allocates about as much as the objects. References of the agent on the heap would allocate three times as much.
      const { jvmBytes, siteBytes } = profile.allocation!
      expect(siteBytes).toBe(110_000 * 16)
      expect(jvmBytes! / siteBytes).toBeLessThan(3)
    },
  )

  it('if the JVM exits, a warning reports that the number of live objects is unknown', async () => {
    const file = join(temporaryDirectory('jfluid-liveness-'), 'p.jfluid')
    const allocs = await compileFixture(jdk, 'Allocs')
    const program = [jdk.java, '-cp', allocs, 'fix.Allocs', 'root', '12', '1']
    const flags = ['--mode', 'alloc', '--liveness', '--record', file]
    const ran = await jfluid('run', '--root', 'fix.Allocs.root', ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const { warnings, truncated } = await readProfileJson(file)
    expect(warnings.join()).toMatch(/the JVM ended: the counts of live objects are up to half a second old/)
    expect(truncated).toBe(false)
  })

  itInFull(
    'by default one of 100 objects is tracked, and estimated totals differ from the true totals only by the sampling error',
    async () => {
      const { recording, ask } = await record('fix.Leaks.fills')
      await ask('fills 50000', 'gc')
      const profile = await recording.stop()
      const [fills] = profile.merged
      expect(profile.allocation!.sampleEvery).toBe(100)
      // 500 objects are tracked. They are chosen from 1,000 samples of calls of `new`. The standard deviation is 18 objects.
      expect(fills!.liveObjects! % 100).toBe(0)
      expect(Math.abs(fills!.liveObjects! / 50000 - 1)).toBeLessThan(0.15)
    },
  )
})
