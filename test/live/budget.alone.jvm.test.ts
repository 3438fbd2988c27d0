// --max-overhead: a program with far more calls than work. It counts its own calls, so what is still counted must be the
// same to the call, and what is not any more must come near.

import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import type { JavaProcess } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, startRecording, stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'

const ROOT = 'fix.Dense.root'
const LEAF = 'Lfix/Dense;.leaf(I)I'
/** Calls of the leaf in one of its caller, which say how large a part probes are: tried in turn. */
const LEAVES = [16, 32, 8, 16, 32]
/** So long nothing is too much: a window is a second. */
const UNCHANGED_MS = 8000

/** The program stands still, and says how often its methods were called. */
async function calls(java: JavaProcess, nth: number): Promise<Record<string, number>> {
  java.send('calls')
  const [, root, middle, twig, leaf, work] = (await java.line(/^calls/, nth)).split(' ').map(Number)
  return { root: root!, middle: middle!, twig: twig!, leaf: leaf!, work: work! }
}

function nodesOf({ merged }: JsonProfile): JsonNode[] {
  const all = (nodes: readonly JsonNode[]): JsonNode[] => nodes.flatMap((it) => [it, ...all(it.children)])
  return all(merged)
}

describe.each(newestOrAll)('JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Dense')
  })

  it('methods are folded until the overhead is below the budget, and come back when there is room', async () => {
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Dense', '2', '4', '64'])
    const code = await liveCode(jvm, 'Lfix/Dense;')
    const before = await calls(java, 1)
    const recording = startRecording(java.pid, '--root', ROOT, '--max-overhead', '20%')
    await recording.started
    java.send('go')
    // Told only when the overhead of a whole window was at most the budget.
    await stderrLine(recording.process, /overhead [\d.]+ % \(budget 20 %\): .*\d( methods?)? folded/)
    const folded = await liveCode(jvm, 'Lfix/Dense;')
    expect(folded.get(LEAF)).toBe(code.get(LEAF))
    expect(probed(folded)).toContain('Lfix/Dense;.root(ZI)I')

    java.send('calm')
    await stderrLine(recording.process, /overhead [\d.]+ % \(budget 20 %\): no method folded/)
    expect(probed(await liveCode(jvm, 'Lfix/Dense;'))).toHaveLength(5)
    const after = await calls(java, 2)
    const profile = await recording.stop()
    expect(await liveCode(jvm, 'Lfix/Dense;')).toEqual(code)

    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
    const nodes = nodesOf(profile)
    expect(nodes.map(({ method }) => method).toSorted()).toEqual(['leaf', 'middle', 'root', 'twig', 'work'])
    for (const node of nodes) {
      const { method, extrapolatedCalls: extra = 0, folded: isFolded } = node
      const counted = node.calls + (node.countedCalls ?? 0)
      const truth = after[method]! - before[method]!
      if (extra === 0) expect(counted, method).toBe(truth)
      else expect(Math.abs(counted + extra - truth) / truth, method).toBeLessThan(0.15)
      expect(isFolded ?? false, method).toBe(false)
    }
    const node = (name: string) => nodes.find(({ method }) => method === name)!
    expect(node('root').extrapolatedCalls ?? 0).toBe(0)
    expect(node('leaf').extrapolatedCalls).toBeGreaterThan(0)

    const { budget, windows, folded: atEnd, changes } = profile.overhead!
    expect(budget).toBe(0.2)
    expect(atEnd).toEqual([])
    expect(windows.some(({ part, folded: methods }) => methods > 0 && part <= budget)).toBe(true)
    // Out in a few steps, back in a few.
    expect(changes).toBeLessThan(9)
    expect(profile.warnings).toEqual([])
  })

  const kinds = FULL && jdk.version >= 21 ? ['platform', 'virtual'] : ['platform']
  it.each(kinds)(
    'leaves are only counted if that is enough, each call in its context: %s thread',
    async (kind) => {
      // By the machine, and by what others do with its processors, counting is not enough, and the leaf is folded, or
      // not necessary: that says nothing of counting.
      for (const leaves of LEAVES) if (await isOnlyCounted(kind, leaves)) return
      throw new Error(`it was never enough to count the leaf, of ${LEAVES.join(', ')} in a twig`)
    },
  )

  /** @returns false if the leaf had to be folded, or nothing was too much */
  async function isOnlyCounted(kind: string, leaves: number): Promise<boolean> {
    const more = kind === 'virtual' ? [kind] : []
    const { java, jvm } = await startDebuggable(jdk, [
      '-cp',
      classes,
      'fix.Dense',
      '1',
      '1',
      `${leaves}`,
      ...more,
    ])
    const code = await liveCode(jvm, 'Lfix/Dense;')
    const before = await calls(java, 1)
    const recording = startRecording(java.pid, '--root', ROOT, '--max-overhead', '22%')
    await recording.started
    java.send('go')
    const changed = stderrLine(
      recording.process,
      /overhead [\d.]+ % \(budget 22 %\): .*(only counted|folded)/,
    )
    const told = await Promise.race([changed, sleep(UNCHANGED_MS, null)])
    if (told === null || /\d( methods?)? folded/.test(recording.process.stderr())) {
      await recording.end()
      java.send('quit')
      return false
    }
    const counted = await liveCode(jvm, 'Lfix/Dense;')
    expect(counted.get(LEAF)).not.toBe(code.get(LEAF))
    expect(probed(counted)).toHaveLength(5)

    java.send('calm')
    await stderrLine(recording.process, /overhead [\d.]+ % \(budget 22 %\): no method folded/)
    const after = await calls(java, 2)
    const profile = await recording.stop()
    expect(await liveCode(jvm, 'Lfix/Dense;')).toEqual(code)

    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
    expect(profile.overhead).toMatchObject({ folded: [], counted: [] })
    // Between two lines that were told, it may have been.
    if (profile.overhead!.windows.some(({ folded }) => folded > 0)) return false
    const nodes = nodesOf(profile)
    expect(nodes.map(({ method }) => method).toSorted()).toEqual(['leaf', 'middle', 'root', 'twig', 'work'])
    for (const { method, calls: timed, countedCalls = 0, extrapolatedCalls = 0 } of nodes) {
      expect(timed + countedCalls, method).toBe(after[method]! - before[method]!)
      expect(extrapolatedCalls, method).toBe(0)
      expect(countedCalls > 0, method).toBe(method === 'leaf')
    }
    expect(profile.overhead!.windows.some(({ counted: methods }) => methods === 1)).toBe(true)
    return true
  }
})
