// Tasks passed to other threads inside the root, recorded by `--follow-threads`: every JDK executor, with workers that were idle before
// the attach.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestTarget, type Jdk, newest } from '../support/jdks.ts'
import {
  callsByPath,
  calmWarnings,
  type JsonProfile,
  startRecording,
  sumsAreExact,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { liveObjects } from './remains.ts'

const HANDED: Record<string, readonly [n: number, calls: readonly string[]]> = {
  submit: [40, ['Job.<init> 40', 'Job.call 40', 'Job.call > Hands.work 40']],
  shared: [40, ['Hands.count 40', 'Hands.count > Hands.work 40']],
  all: [20, ['Job.<init> 20', 'Job.call 20', 'Job.call > Hands.work 20']],
  any: [5, ['Job.<init> 5', 'Job.call 5', 'Job.call > Hands.work 5']],
  nested: [
    10,
    [
      'Outer.<init> 10',
      'Outer.call 10',
      'Outer.call > Inner.<init> 10',
      'Outer.call > Inner.call 10',
      'Outer.call > Inner.call > Hands.work 10',
    ],
  ],
  // The depth of the tree does not depend on the number of times that a task submits itself.
  again: [50, ['Again.<init> 1', 'Again.run 1', 'Again.run > Again.run 49']],
  bad: [5, ['Bad.<init> 5', 'Bad.run 5']],
  caller: [
    5,
    [
      'Job.<init> 5',
      'Job.run 5',
      'Job.run > Hands.count 5',
      'Job.run > Hands.count > Hands.work 5',
      'Hands.lambda$caller 1',
    ],
  ],
  rejected: [3, ['Job.<init> 1']],
  periodic: [10, ['Tick.<init> 1', 'Tick.run 10', 'Tick.run > Hands.work 10']],
  delayed: [5, ['Job.<init> 5', 'Job.call 5', 'Job.call > Hands.work 5']],
  async: [10, ['Hands.first 10', 'Hands.second 10']],
  threads: [
    5,
    [
      'Job.<init> 5',
      'Job.run 5',
      'Job.run > Hands.count 5',
      'Job.run > Hands.count > Hands.work 5',
      'Own.<init> 5',
      'Own.run 5',
      'Own.run > Hands.work 5',
    ],
  ],
  fresh: [
    5,
    [
      'Hands.lambda$fresh 2', // calls of the thread factory, and of the new thread's task until the pool uses the thread
      'Job.<init> 5',
      'Job.call 5',
      'Job.call > Hands.work 5',
    ],
  ],
}

/** Expected calls without the option: only the submitting thread's own calls. */
const ALONE: Record<string, readonly string[]> = {
  submit: ['Job.<init> 40'],
  shared: [],
  all: ['Job.<init> 20'],
  any: ['Job.<init> 5'],
  nested: ['Outer.<init> 10'],
  again: ['Again.<init> 1'],
  bad: ['Bad.<init> 5'],
  caller: ['Job.<init> 5', 'Job.run 5', 'Job.run > Hands.count 5', 'Job.run > Hands.count > Hands.work 5'],
  rejected: ['Job.<init> 1'],
  periodic: ['Tick.<init> 1'],
  delayed: ['Job.<init> 5'],
  async: [],
  threads: ['Job.<init> 5', 'Own.<init> 5'],
  fresh: ['Hands.lambda$fresh 1', 'Job.<init> 5'],
}

/** Returns the calls below each way's method, in the format of the tables above, sorted. */
function below(profile: JsonProfile, way: string): string[] {
  const sums = new Map<string, number>()
  for (const [path, calls] of callsByPath(profile.merged)) {
    const steps = path
      .split(/;(?=fix\.)/)
      .map((step) =>
        step
          .replace(/\(.*/, '')
          .replace(/^fix\./, '')
          .replace(/^Hands\$/, ''),
      )
      .map((step) => step.replace(/(lambda\$\w+)\$\d+$/, '$1'))
    if (steps[0] !== 'Hands.root' || steps[1] !== `Hands.${way}` || steps.length === 2) continue
    const name = steps.slice(2).join(' > ')
    sums.set(name, (sums.get(name) ?? 0) + calls)
  }
  return [...sums].map(([name, calls]) => `${name} ${calls}`).sort()
}

const calls = (profile: JsonProfile, name: string, descriptor?: string): number =>
  profile.methods.find(
    (m) => `${m.class}.${m.method}` === name && (descriptor === undefined || m.descriptor === descriptor),
  )?.calls ?? 0

async function start(jdk: Jdk): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Hands'), 'fix.Hands'])
  await java.line(/ready/)
  return java
}

async function run(java: JavaProcess, way: string, n: number): Promise<void> {
  await ask(java, `${way} ${n}`, new RegExp(`^done ${way}$`))
}

const FOLLOW = ['--root', 'fix.Hands.root', '--follow-threads']

forNewestTarget((jdk) => {
  it('a traced call is complete when all its tasks have ended or were cancelled', async () => {
    const java = await start(jdk)
    const ways = Object.keys(HANDED).filter((way) => way !== 'rejected') // 'rejected' continues cancelled tasks after its call has ended
    const all = [
      ...ways,
      'forked',
      'stream',
      'wrapped',
      'idle',
      'timeout',
      'later',
      ...(jdk.version >= 21 ? ['virtual'] : []),
    ]
    const recording = startRecording(java.pid, ...FOLLOW, '--trace', `${all.length + 1}`)
    await recording.started
    for (const way of all) await run(java, way, 4)
    await run(java, 'give-up', 0)
    await run(java, 'never', 1)
    const { trace } = (await recording.stop()) as JsonProfile & {
      readonly trace: { readonly calls: readonly { readonly state: string }[] }
    }
    expect(java.stdout()).not.toMatch(/failed/)
    expect(trace.calls.map(({ state }, i) => `${all[i] ?? 'never'} ${state}`)).toEqual([
      ...all.map((way) => `${way} whole`),
      'never open',
    ])
  })

  it.each(FULL ? ['a', 'b'] : ['b'])(
    'scheme %s: tasks are counted below the call that submitted them',
    async (scheme) => {
      const java = await start(jdk)
      const recording = startRecording(java.pid, ...FOLLOW, '--scheme', scheme)
      await recording.started
      await run(java, 'deaf', 100)
      for (const [way, [n]] of Object.entries(HANDED)) await run(java, way, n)
      await run(java, 'forked', 512)
      await run(java, 'stream', 5000)
      if (jdk.version >= 21) await run(java, 'virtual', 200)
      await run(java, 'outside', 16)
      const profile = await recording.stop()
      expect(java.stdout()).not.toMatch(/failed/)
      const found = Object.fromEntries(Object.keys(HANDED).map((way) => [way, below(profile, way)]))
      const known = Object.entries(HANDED).map(([way, [, lines]]) => [way, [...lines].sort()])
      expect(found).toEqual(Object.fromEntries(known))
      // The counts do not depend on which threads run the tasks: a binary tree of 512 leaves has 511 inner nodes.
      expect(calls(profile, 'fix.Hands$Split.leaf')).toBe(512)
      expect(calls(profile, 'fix.Hands$Split.compute', '()Ljava/lang/Integer;')).toBe(1023)
      // The bridge method: the pool calls it for the first task and for each forked task.
      expect(calls(profile, 'fix.Hands$Split.compute', '()Ljava/lang/Object;')).toBe(512)
      expect(calls(profile, 'fix.Hands.visit')).toBe(5000)
      // For a pool that hides its tasks, only the first task of each idle worker is missing.
      const seen = below(profile, 'deaf').find((line) => line.startsWith('Job.run ') && !line.includes('>'))
      expect(Number(seen?.split(' ')[1])).toBeGreaterThanOrEqual(98)
      expect(Number(seen?.split(' ')[1])).toBeLessThanOrEqual(100)
      if (jdk.version >= 21) {
        const lines = ['Sleeper.<init> 200', 'Sleeper.call 200', 'Sleeper.call > Hands.work 400']
        expect(below(profile, 'virtual')).toEqual(lines)
      }
      expect(profile.merged.map((node) => node.method)).toEqual(['root'])
      expect(sumsAreExact(profile.merged)).toBe(true)
      for (const thread of profile.threads) expect(sumsAreExact(thread.roots)).toBe(true)
      expect(profile.followThreads).toBe(true)
      expect(calmWarnings(profile.warnings)).toEqual([])
      expect(profile.instrumentation.gaps).toBe(0)
      expect(profile.instrumentation.healed).toBe(0)
    },
  )

  itOnlyIf(!jdk.isRuntime, 'a runtime has no debugger agent')(
    'after detach, JDK methods have their original code, and the agent references no task',
    async () => {
      const classes = await compileFixture(jdk, 'Hands')
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Hands'])
      const before = await liveCode(jvm, 'Ljava/util/concurrent/')
      const recording = startRecording(java.pid, ...FOLLOW)
      await recording.started
      expect(probed(await liveCode(jvm, 'Ljava/util/concurrent/')).length).toBeGreaterThan(8)
      await run(java, 'rejected', 10)
      await run(java, 'threads', 10)
      await recording.stop()
      const after = await liveCode(jvm, 'Ljava/util/concurrent/')
      for (const [method, code] of before) expect(after.get(method)).toBe(code)
      expect(probed(after)).toEqual([])
      expect(probed(await liveCode(jvm, 'Ljava/lang/Thread;'))).toEqual([])
      const ours = /^java\.lang\.JFluid1(?:Tasks\$(?:Waiting|Ticket|HandedOver)|Threads\$ThreadInfo)$/
      expect([...(await liveObjects(java.pid, ours))]).toEqual([])
      await run(java, 'submit', 10)
      await jvm.dispose()
    },
  )
}, 11)

describe('--follow-threads on the newest JDK', () => {
  let java: JavaProcess
  beforeAll(async () => {
    java = await start(newest)
  })

  itInFull('tasks in other threads are not recorded without --follow-threads', async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Hands.root')
    await recording.started
    for (const [way, [n]] of Object.entries(HANDED)) await run(java, way, n)
    const profile = await recording.stop()
    const found = Object.fromEntries(Object.keys(ALONE).map((way) => [way, below(profile, way)]))
    const known = Object.entries(ALONE).map(([way, lines]) => [way, [...lines].sort()])
    expect(found).toEqual(Object.fromEntries(known))
    expect(profile.followThreads).toBe(false)
    expect(profile.followedTasks).toBe(0)
  })

  itInFull('a root that submits no tasks causes a warning', async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Hands.work', '--follow-threads')
    await recording.started
    await run(java, 'submit', 10)
    const { followedTasks, warnings } = await recording.stop()
    expect([followedTasks, calmWarnings(warnings)]).toEqual([
      0,
      ['no task was followed: the roots passed no task to an executor of the JDK and started no thread'],
    ])
  })

  itInFull(
    'runs of a periodic task are not nested in the tree, even if the classes of its thread pool are instrumented',
    async () => {
      const pool = ['--jdk', '--yes', '--include', 'fix.**', '--include', 'java.util.concurrent.Scheduled*']
      const recording = startRecording(java.pid, '--root', 'fix.Hands.periodic', ...pool, '--follow-threads')
      await recording.started
      await run(java, 'periodic', 60)
      const profile = await recording.stop()
      expect(calls(profile, 'fix.Hands$Tick.run')).toBe(60)
      expect(calls(profile, 'java.util.concurrent.ScheduledThreadPoolExecutor.delayedExecute')).toBe(1)
      expect(sumsAreExact(profile.merged)).toBe(true)
      const contexts = [...callsByPath(profile.merged).keys()].filter((path) => /Tick\.run\(\)V$/.test(path))
      expect(contexts.length).toBeLessThanOrEqual(2)
    },
  )
})
