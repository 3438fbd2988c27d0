// Roots that are timed by themselves: what the target sums while they are closed (JFluid1Roots.timedExit), looked at again and
// again until it is steady.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RootTimes } from '../../cct/uncertainty.ts'
import type { Agent } from '../../wire/agent.ts'
import type { BareTime } from '../../wire/messages.ts'

export const ENOUGH_CALLS = 30
const LOOK_MS = 50
/** Halves of what counts that differ by less are the same. */
const STEADY = 0.02
/** How long threads may take to leave the roots. */
export const INSIDE_MS = 1_000
const INSIDE_LOOK_MS = 5
const INSIDE_LOOKS = 3

export interface BareLook {
  readonly at: number
  /** By method, since the session began. */
  readonly times: ReadonlyMap<number, BareTime>
}

/**
 * After `Agent.closeRoots`.
 *
 * @param isOver   nobody wants to know any more
 * @param onLook   told what is known, at each look
 * @returns looks from the end of the slow calls on: the second half of the time it took
 */
export async function timeBare(
  agent: Pick<Agent, 'bareTimes'>,
  { leastMs, mostMs }: { readonly leastMs: number; readonly mostMs: number },
  isOver: () => boolean,
  onLook: (times: readonly BareTime[]) => void = () => {},
): Promise<BareLook[]> {
  const looks: BareLook[] = []
  const begun = performance.now()
  for (;;) {
    const times = await agent.bareTimes()
    onLook(times)
    looks.push({ at: performance.now(), times: new Map(times.map((it) => [it.method, it])) })
    const spent = performance.now() - begun
    const counted = looks.filter(({ at }) => at - begun >= spent / 2)
    if (isOver() || spent >= mostMs) return counted
    if (spent >= leastMs && isSteady(counted.map((it) => it.times))) return counted
    await sleep(LOOK_MS)
  }
}

/** Waits until no thread is in the graph. @returns false if one stays */
export async function allLeft(agent: Pick<Agent, 'inside'>, isOver: () => boolean): Promise<boolean> {
  const until = performance.now() + INSIDE_MS
  for (let looks = 0; looks < INSIDE_LOOKS; ) {
    looks = (await agent.inside()) === 0 ? looks + 1 : 0
    if (performance.now() > until || isOver()) return false
    await sleep(INSIDE_LOOK_MS)
  }
  return true
}

const NO_TIMES: RootTimes = { calls: 0, ticks: 0, allCalls: 0, halves: 0 }

export function asTimes(sum: BareTime | RootTimes | undefined): RootTimes {
  if (sum === undefined) return NO_TIMES
  return 'allCalls' in sum ? sum : { calls: sum.calls, ticks: sum.ticks, allCalls: sum.calls, halves: 0 }
}

/** What came from one look to the next. */
export function spansOf(sums: readonly RootTimes[]): RootTimes[] {
  return sums.slice(1).map((sum, i) => ({
    calls: sum.calls - sums[i].calls,
    ticks: sum.ticks - sums[i].ticks,
    allCalls: sum.allCalls - sums[i].allCalls,
    halves: sum.halves - sums[i].halves,
  }))
}

/** Whether every root that is called takes as long in the second half of these as in the first. */
function isSteady(looks: readonly ReadonlyMap<number, BareTime>[]): boolean {
  const first = looks[0]
  const middle = looks[Math.floor(looks.length / 2)]
  const last = looks[looks.length - 1]
  let called = false
  for (const [method, now] of last) {
    const means = [
      [first.get(method), middle.get(method)],
      [middle.get(method), now],
    ].map(([from, to]) => {
      const calls = (to?.calls ?? 0) - (from?.calls ?? 0)
      return calls < ENOUGH_CALLS ? Number.NaN : ((to?.ticks ?? 0) - (from?.ticks ?? 0)) / calls
    })
    if (!(Math.abs(means[0] - means[1]) <= STEADY * means[1])) return false
    called = true
  }
  return called
}
