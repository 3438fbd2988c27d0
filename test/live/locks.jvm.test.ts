// --mode locks: blocked and waiting times per context, compared with the JVM's counters per thread (ThreadMXBean with contention
// monitoring, printed by the program).

import { beforeAll, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestTarget } from '../support/jdks.ts'
import { type JsonNode, jfluid, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'

const CACHE = 'fix.Locks$Cache'
const QUEUE = 'fix.Locks$Queue'
const CONDITION = 'java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject'
const LOCK = 'java.util.concurrent.locks.ReentrantLock$NonfairSync'

const isWait = (node: JsonNode): boolean => node.method.startsWith('(')
const textOf = ({ class: owner, method }: JsonNode): string =>
  owner === '' ? method : `${method.slice(0, -1)} ${owner})`

/** Returns the rows of waits, keyed by the waiting method and by the text of the wait. */
function waitsOf(roots: readonly JsonNode[]): Map<string, Map<string, JsonNode>> {
  const found = new Map<string, Map<string, JsonNode>>()
  const visit = (node: JsonNode): void => {
    for (const child of node.children) {
      if (!isWait(child)) {
        visit(child)
        continue
      }
      const waits = found.get(node.method) ?? new Map<string, JsonNode>()
      found.set(node.method, waits.set(textOf(child), child))
    }
  }
  for (const root of roots) visit(root)
  return found
}

function nodeOf(roots: readonly JsonNode[], method: string, caller?: string): JsonNode {
  const left = roots.map((node) => ({ node, above: undefined as string | undefined }))
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, above } = next
    if (node.method === method && (caller === undefined || above === caller)) return node
    for (const child of node.children) left.push({ node: child, above: node.method })
  }
  throw new Error(`no ${method}`)
}

/** Waits of one round. A park may return spuriously, so there may be more parks. */
const EXPECTED: readonly (readonly [method: string, on: string, times: number])[] = [
  ['get', `(blocked on ${CACHE})`, 1],
  ['blockStatic', `(blocked on class ${CACHE})`, 1],
  ['blockMethod', `(blocked on ${CACHE})`, 1],
  ['waitFor', `(waiting on ${QUEUE})`, 1],
  ['waitInterrupted', `(waiting on ${QUEUE})`, 1],
  ['park', `(parked on ${QUEUE})`, 1],
  ['lock', `(parked on ${LOCK})`, 1],
  ['sleep', '(sleeping)', 2],
]

/** Text of the one wait of each method. */
const SPELLINGS: ReadonlyMap<string, string> = new Map([
  ['parkNanos', '(parked)'],
  ['parkNanosFor', `(parked on ${QUEUE})`],
  ['parkUntil', '(parked)'],
  ['parkUntilFor', `(parked on ${QUEUE})`],
  ['waitMillis', `(waiting on ${QUEUE})`],
  ['waitNanos', `(waiting on ${QUEUE})`],
  ['join', '(waiting on java.lang.Thread)'],
  ['awaitNanos', `(parked on ${CONDITION})`],
  ['poll', `(parked on ${CONDITION})`],
  ['acquire', '(parked on java.util.concurrent.Semaphore$NonfairSync)'],
  ['future', '(parked on java.util.concurrent.CompletableFuture$Signaller)'],
])

function expectWaits(roots: readonly JsonNode[], rounds: number, ms: number): void {
  const waits = waitsOf(roots)
  for (const [method, on, times] of EXPECTED) {
    const row = waits.get(method)?.get(on)
    expect(row, `${method} ${on}`).toBeDefined()
    if (on.startsWith('(parked')) expect(row!.calls, method).toBeGreaterThanOrEqual(times * rounds)
    else expect(row!.calls, method).toBe(times * rounds)
    // A timer may end up to one millisecond too early.
    expect(row!.totalNs, method).toBeGreaterThan(times * rounds * (ms - 1) * 1e6)
  }
}

forNewestTarget((jdk) => {
  /** A warmed-up JVM. */
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Locks'), 'fix.Locks'])
    await java.line(/ready/)
    await ask(java, 'waits 1 1', /done/)
    await ask(java, 'quiet 10', /done/)
  })

  /** Records while the program executes the given commands. */
  const record = async (lines: readonly string[], ...flags: string[]) => {
    const recording = startRecording(java.pid, '--scheme', 'a', ...flags)
    await recording.started
    let done = ''
    for (const line of lines) done = await ask(java, line, /done/)
    const profile = await recording.stop()
    await ask(java, 'waits 1 1', /done/) // the original code of the program and the JDK is restored
    return { profile, done, file: recording.file }
  }

  it('counts and times of locks match the counters of the JVM, in each context', async () => {
    const { profile, done, file } = await record(['waits 25 3'], '--root', 'Task.root', '--mode', 'locks')
    expect(profile).toMatchObject({ mode: 'locks', waits: true })
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
    expectWaits(profile.merged, 3, 25)
    expect(sumsAreExact(profile.merged)).toBe(true)

    const [, blockedCount, blockedMs, waitedCount, waitedMs] = /blocked (\d+) (\d+) waited (\d+) (\d+)/
      .exec(done)!
      .map(Number)
    const rows = [...waitsOf(profile.merged).values()].flatMap((waits) => [...waits.values()])
    const waited = rows.filter(({ method }) => !method.startsWith('(blocked'))
    expect(waited.reduce((sum, { calls }) => sum + calls, 0)).toBe(waitedCount)
    // Three monitors per round. After a wait a thread locks the queue's monitor again: if another thread holds it, the JVM counts this as
    // blocked as well.
    expect(blockedCount).toBeGreaterThanOrEqual(9)
    const [root] = profile.merged
    const near = (ns: number, ms: number): void => {
      expect(Math.abs(ns / 1e6 - ms)).toBeLessThan(0.03 * ms + 10)
    }
    near(root!.totalBlockedNs!, blockedMs!)
    near(root!.totalWaitedNs!, waitedMs!)
    expect(root).not.toHaveProperty('blockedNs') // the root itself waits for nothing
    // The thread that holds the monitors is outside the root.
    expect(profile.threads.filter(({ roots }) => roots.length > 0)).toHaveLength(1)

    const { stdout } = await jfluid('report', file)
    expect(stdout).toMatch(/^waiting {3}[\d.]+ m?s blocked on monitors \([\d.]+ %\), /m)
    expect(stdout).toMatch(/ {5}wait {2}own wait/)
    expect(stdout).toMatch(/\(blocked on class fix\.Locks\$Cache\)\n.* {4}fix\.Locks\$Task\.blockStatic\n/)
    expect(stdout).not.toContain('Hot methods')
  })

  it('self time excludes waiting, and uncontended monitors are not reported', async () => {
    const roots = ['--root', 'Task.root', '--root', 'Task.quiet']
    const { profile } = await record(['waits 30 1', 'quiet 20000'], ...roots, '--mode', 'locks')
    expect(profile).toMatchObject({ mode: 'locks', waits: true })
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
    expectWaits(profile.merged, 1, 30)
    const get = nodeOf(profile.merged, 'get', 'block')
    expect(get.totalNs).toBeGreaterThan(29e6)
    expect(get.selfNs).toBeLessThan(15e6)
    expect(get.blockedNs).toBe(get.children[0]!.totalNs)
    const method = profile.methods.find((it) => it.class === CACHE && it.method === 'get')
    expect(method).toMatchObject({ blockedNs: get.blockedNs, waitedNs: 0, totalBlockedNs: get.blockedNs })

    const quiet = nodeOf(profile.merged, 'quiet')
    expect(quiet.children.map(({ method, calls }) => [method, calls]).sort()).toEqual([
      ['get', 20_000],
      ['one', 20_000],
      ['size', 20_000],
    ])
    expect([...waitsOf([quiet])]).toEqual([])
    expect(quiet).not.toHaveProperty('totalBlockedNs')
  })

  itInFull('every form of wait is counted, even after a wait that throws an exception', async () => {
    const { profile } = await record(['spelled 20'], '--root', 'Task.spelled', '--mode', 'locks')
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
    const waits = waitsOf(profile.merged)
    for (const [method, on] of SPELLINGS) {
      const { calls, totalNs, selfNs } = nodeOf(profile.merged, method)
      expect(calls, method).toBe(1)
      const row = waits.get(method)?.get(on)
      expect(row?.totalNs, `${method} ${on}`).toBeGreaterThan(18e6)
      expect(selfNs, method).toBeLessThan(totalNs - 18e6)
    }
    expect([...waits.keys()].toSorted()).toEqual([...SPELLINGS.keys(), 'sleepThrows'].toSorted())
    const thrown = waits.get('sleepThrows')!.get('(sleeping)')!
    expect(thrown.calls).toBe(1)
    const after = nodeOf(profile.merged, 'thrown')
    expect(after.children.map(({ method }) => method).toSorted()).toEqual(['left', 'run', 'sleepThrows'])
    expect(thrown.totalNs).toBeLessThan(after.totalNs / 2)
  })

  itInFull(
    'a session that ends during a wait counts the wait until the end of the session, and the next session starts from zero',
    async () => {
      const flags = ['--scheme', 'a', '--root', 'Task.root', '--root', 'Task.spelled', '--mode', 'locks']
      const first = startRecording(java.pid, ...flags)
      await first.started
      const over = ask(java, 'spelled 300', /done/)
      const waiting = java
        .stdout()
        .split('\n')
        .filter((line) => line === 'waited').length
      await java.line(/^waited$/, waiting + 1) // the first of several waits of 300 ms, which take 3 s in total
      const { merged, instrumentation } = await first.stop()
      expect(instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      const [root] = merged
      expect(root!.calls).toBe(1)
      expect(root!.totalWaitedNs).toBeGreaterThan(0)
      await over
      const second = startRecording(java.pid, ...flags)
      await second.started
      await ask(java, 'waits 25 1', /done/)
      const profile = await second.stop()
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      expectWaits(profile.merged, 1, 25)
    },
  )

  itInFull('the time of JDK calls during a wait is part of the waiting time, even with --jdk', async () => {
    const jdkClasses = ['java.lang.Object', 'java.lang.Thread'].flatMap((name) => ['--include', name])
    const flags = ['--root', 'Task.root', '--jdk', '--include', 'fix.**', ...jdkClasses, '--mode', 'locks']
    const { profile } = await record(['waits 25 2'], ...flags)
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
    const [root] = profile.merged
    const waits = [...waitsOf([root!]).values()].flatMap((rows) => [...rows.values()])
    expect(waits.flatMap(({ children }) => children)).toEqual([])
    // With --jdk, Object.wait and Thread.sleep are instrumented methods that call other methods to wait.
    expect(waits.map(textOf)).toEqual(expect.arrayContaining([`(waiting on ${QUEUE})`, '(sleeping)']))
    // Nine waits per round. Two of them are sleeps.
    expect(root!.totalBlockedNs! + root!.totalWaitedNs!).toBeGreaterThan(2 * 9 * 24e6)
  })

  itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')(
    'waits of virtual threads are counted on any carrier, even if many threads wait for each other',
    async () => {
      const roots = ['--root', 'Task.root', '--root', 'Task.crowd']
      const { profile } = await record(['virtual 20 2', 'crowd 200 4'], ...roots, '--mode', 'locks')
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      const [tree] = profile.threads.filter(({ roots }) => roots.length > 0)
      expect(tree).toMatchObject({ id: 0 })
      expectWaits(
        tree!.roots.filter(({ method }) => method === 'root'),
        2,
        20,
      )
      const crowd = nodeOf(tree!.roots, 'crowd')
      expect(
        crowd.children.filter(({ method }) => method === '(sleeping)').map(({ calls }) => calls),
      ).toEqual([5 * 4 * 200])
      // The threads hold the monitor one after the other, for at least 0.1 ms each. On average a thread waits for half of the other
      // threads. Before JDK 24 (JEP 491), a thread that waits for a monitor keeps its carrier, so at most one thread per carrier waits.
      if (jdk.version >= 24) expect(crowd.blockedNs).toBeGreaterThan(200 * 100 * 0.1e6)
    },
  )
})
