// Combines the sources of several JVMs into one LiveSource. Trees are summed by method name; JVMs are shown in place of threads.

import { maxOf } from '../base/arrays.ts'
import type { Snapshot } from '../cct/tree.ts'
import { type Part, UnionIds, unionOf } from '../cct/union.ts'
import type { Keeper } from './keeper.ts'
import type { LiveSource, LiveStatus } from './live-source.ts'

interface OneOfSeveral {
  readonly pid: number
  /** Main class or jar. */
  readonly name: string
  readonly source: LiveSource
}

/**
 * Combines the sources. Data of a single JVM are omitted: threads, slow calls, timeline, instrumentation facts, steering.
 *
 * @param sources   at least one source. All have the same mode, and `unionOf` can merge their trees
 * @param refusals  reasons why other JVMs are not profiled
 */
export function severalSource(
  sources: readonly OneOfSeveral[],
  refusals: readonly string[],
  keeper: Keeper,
): LiveSource {
  const ids = new UnionIds()
  const members = sources.map((it) => new Member(it))
  return {
    async snapshot(perThread) {
      const shown = members.filter((it) => !it.isOut)
      const pictures = await Promise.all(shown.map((it) => it.picture()))
      const parts = pictures.map(({ merged }, i): Part => {
        const { source } = shown[i]!.jvm
        return { tree: merged, nameOf: (id) => source.methodName(id) }
      })
      const sum = (key: 'events' | 'waitNs' | 'healed'): number =>
        pictures.reduce((all, it) => all + it[key], 0)
      return {
        merged: unionOf(parts, ids),
        threads: perThread
          ? shown.map(({ jvm: { pid, name } }, i) => ({ id: pid, name, tree: unionOf([parts[i]!], ids) }))
          : [],
        ...{ events: sum('events'), waitNs: sum('waitNs'), healed: sum('healed') },
      }
    },
    methodName: (id) => ids.names[id] ?? { class: '?', method: `#${id}`, descriptor: '()V', loader: '?' },
    status: () =>
      statusOf(
        members.filter((it) => !it.isOut),
        refusals,
      ),
    reset: () => {
      const isAnyLeft = members.some(({ ended }) => ended === undefined)
      for (const member of members) member.reset(isAnyLeft)
    },
    keeper,
    ended: Promise.all(members.map(({ jvm }) => jvm.source.ended)).then((reasons) =>
      reasons.length === 1 ? reasons[0]! : 'all sessions have ended',
    ),
  }
}

class Member {
  /** Reason why the session ended; undefined while it runs. */
  ended: string | undefined
  /** True if the session had ended before the last reset. Its data are then excluded. */
  isOut = false
  #latest: Snapshot | undefined

  constructor(readonly jvm: OneOfSeveral) {
    void jvm.source.ended.then((reason) => {
      this.ended = reason
    })
  }

  reset(isAnyLeft: boolean): void {
    if (isAnyLeft && this.ended !== undefined) this.isOut = true
    this.jvm.source.reset()
  }

  /** Returns a new snapshot, or the last snapshot if the session has ended. */
  async picture(): Promise<Snapshot> {
    try {
      this.#latest = await this.jvm.source.snapshot(false)
    } catch (error) {
      if (this.ended === undefined || this.#latest === undefined) throw error
    }
    return this.#latest
  }
}

function statusOf(members: readonly Member[], refusals: readonly string[]): LiveStatus {
  const all = members.map(({ jvm }) => jvm.source.status())
  const first = all[0]!
  const sum = (of: (status: LiveStatus) => number): number => all.reduce((total, it) => total + of(it), 0)
  const each = (of: (status: LiveStatus) => string): string => [...new Set(all.map(of))].join(', ')
  const phases = all.map(({ phase }, i) => (members[i]!.ended === undefined ? phase : 'ended'))
  const going = phases.filter((it) => it !== 'ended')
  const messages = members.flatMap(({ jvm: { pid } }, i) => {
    const { message } = all[i]!
    return message === undefined ? [] : [`JVM ${pid}: ${message}`]
  })
  const [since] = all.flatMap(({ codeSince }) => codeSince ?? []).sort((a, b) => (a.at < b.at ? -1 : 1))
  return {
    pid: first.pid,
    jvms: members.length,
    mainClass: each(({ mainClass }) => mainClass),
    jdk: each(({ jdk }) => jdk),
    ...{ scheme: first.scheme, mode: first.mode, roots: first.roots },
    instrumentedMethods: sum((it) => it.instrumentedMethods),
    calledMethods: sum((it) => it.calledMethods),
    events: sum((it) => it.events),
    eventsPerSecond: sum((it) => it.eventsPerSecond),
    waitPercent: sum((it) => it.waitPercent) / all.length,
    ...(since !== undefined && { codeSince: since }),
    elapsedMs: maxOf(all.map((it) => it.elapsedMs)),
    phase: going.find((it) => it === 'recording') ?? going[0] ?? 'ended',
    // A hint is shown only if every JVM has a hint. If a JVM has no hint, there are recorded data to show.
    ...(messages.length === all.length && { message: messages[0]! }),
    warnings: [
      ...refusals,
      ...members.flatMap(({ jvm: { pid }, ended }) => (ended === undefined ? [] : [`JVM ${pid}: ${ended}`])),
      ...members.flatMap(({ jvm: { pid } }, i) => all[i]!.warnings.map((it) => `JVM ${pid}: ${it}`)),
    ],
  }
}
