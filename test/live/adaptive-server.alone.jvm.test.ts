// A server under load, whose requests compute and wait in several ways. The profile is compared with the server's own counts and
// measurements. Runs alone: on a busy machine the sampling thread gets a processor late.

import { expect, it } from 'vitest'
import { TIMED } from '../../src/cct/merge-samples.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { until } from './remains.ts'

const CLIENTS = '8'
/** With this number of samples, a share of 25 % has a standard deviation of 1.4 percentage points. */
const SAMPLES = 1000
const MOST_OFF = 0.05
const VIRTUAL_THREADS = 21
const STATES = ['cpuNs', 'lockNs', 'ioNs', 'sleepNs', 'waitNs'] as const

/** Counts and measurements of the server since the command "zero". */
interface Oracle {
  readonly calls: Readonly<Record<string, number>>
  /** Time in each state, in the order of STATES. */
  readonly ns: readonly number[]
}

async function oracle(java: JavaProcess): Promise<Oracle> {
  const calls = (await ask(java, 'told', /^calls /)).split(' ').slice(1)
  const [ns = ''] =
    java
      .stdout()
      .match(/^ns .*$/gm)
      ?.slice(-1) ?? []
  const pairs = calls.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(calls[i + 1])] as const] : []))
  return { calls: Object.fromEntries(pairs), ns: ns.split(' ').slice(1).map(Number) }
}

/** Waits until no request is running and the recorder, which reads every 2 ms, has read all events of earlier requests. */
async function rest(java: JavaProcess, session: Session): Promise<void> {
  await ask(java, 'rest', /^resting/)
  let before = -1
  await until(async () => {
    const { events } = await session.status()
    const isAll = events === before
    before = events
    return isAll
  })
}

/**
 * Attaches while the server is under load and waits until methods below the root are timed. The recording starts and ends at moments when
 * no request is running, so the rows must contain exactly the requests in between.
 */
async function recorded(jdk: Jdk): Promise<{ profile: Profile; told: Oracle }> {
  // Without an agent at the start, the first redefinition discards all compiled code, and the samples of the next 10 s are not used.
  const agent = `-javaagent:${agentJar().path}`
  const virtual = jdk.version >= VIRTUAL_THREADS ? ['virtual'] : []
  const classpath = await compileFixture(jdk, 'Server')
  const java = startJava(jdk, [agent, '-cp', classpath, 'fix.Server', CLIENTS, ...virtual])
  await java.line(/^ready/)
  java.send('go')
  const options = sessionOptions({ root: ['fix.Server.serve'], scheme: 'adaptive' })
  const session = await Session.start(await attachDoor(java.pid), options)
  await until(async () => (await session.profileSoFar('it goes on')).stacks!.rowsFromMs > 0)
  await rest(java, session)
  java.send('zero')
  session.reset()
  java.send('go')
  await until(async () => (await session.status()).stacks!.samples >= SAMPLES)
  await rest(java, session)
  const told = await oracle(java)
  await session.detach()
  const profile = await session.profile()
  await session.close()
  return { profile, told }
}

/** Returns the calls of timed rows, keyed by method name. */
function timedCalls({ merged, methodNames }: Profile): Record<string, number> {
  const { known, calls } = merged.metrics
  const sums: Record<string, number> = {}
  for (let node = 0; node < merged.count; node++) {
    if (known![node] !== TIMED) continue
    const name = methodNames[merged.method[node]!]!.method
    sums[name] = (sums[name] ?? 0) + calls![node]!
  }
  return sums
}

function expectAsTold(profile: Profile, told: Oracle): void {
  const timed = timedCalls(profile)
  const { metrics } = profile.merged
  const whole = told.ns.reduce((sum, it) => sum + it, 0)
  const shares = STATES.map(
    (it, i) => [it, metrics[it]![0]! / metrics.totalNs![0]!, told.ns[i]! / whole] as const,
  )
  expect(timed).toEqual(Object.fromEntries(Object.keys(timed).map((name) => [name, told.calls[name]])))
  // A method may have too few samples to be selected for timing.
  expect(Object.keys(timed).length).toBeGreaterThanOrEqual(4)
  expect(profile.instrumentation.gaps).toBe(0)

  for (const [state, found, is] of shares)
    expect(Math.abs(found - is), `${state}: ${found} for ${is}`).toBeLessThan(MOST_OFF)
}

forNewestJdk((jdk) => {
  const threads = jdk.version >= VIRTUAL_THREADS ? ', including calls of virtual threads' : ''
  it(`shares of thread states are within 5 percentage points of the shares that the server measures, and all timed calls are counted${threads}`, async () => {
    const { profile, told } = await recorded(jdk)
    expectAsTold(profile, told)
    if (jdk.version < VIRTUAL_THREADS) return
    // Virtual threads share one tree, which contains the calls and samples of half of the connections.
    const { metrics } = profile.threads.find(({ name }) => name === 'virtual threads')!.tree
    expect(metrics.calls![0]! / told.calls.serve!).toBeCloseTo(0.5, 1)
    expect(metrics.samples![0]).toBeGreaterThan(0)
    // The time of rows without samples is unknown.
    expect(metrics.unknownNs![0]! / metrics.totalNs![0]!).toBeLessThan(MOST_OFF)
  })
})
