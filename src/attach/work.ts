// Finds out whether a JVM works on a request, so that jfluid does not give up a JVM that is only slow: with -Xcomp, a JVM compiles each
// method of the agent before the method runs. Loading the agent took 24 s on two processors with 26 runnable threads, of which the
// compilers ran 9 s.

import { afterOwnTime } from '../base/own-time.ts'
import { namesIn, textOf } from '../base/visible.ts'

/** Thread that executes attach commands, by the name that the kernel has. */
export const LISTENER: ReadonlySet<string> = new Set(['Attach Listener'])
/** Threads of the agent that run before it connects. */
export const STARTING: ReadonlySet<string> = new Set(['jfluid-agent'])
/** Thread of the agent that redefines classes. The agent's main thread is not looked at: it wakes at intervals without any request. */
export const SWAP: ReadonlySet<string> = new Set(['jfluid-swap'])

/** Maximum time for which jfluid waits for a JVM that works. */
export const MAX_WORK_MS = 120_000

/** State of threads at one time. */
export interface Look {
  /** Texts of `schedstat`: the time that each thread ran, and others. The text changes whenever a thread runs. */
  readonly ran: string
  /** Whether a thread runs, or waits for a processor. */
  readonly isRunnable: boolean
}

/**
 * @param names  names of the threads
 * @returns undefined if there is no such thread, or if the kernel does not show it to this process
 */
export function lookAt(pid: number, names: ReadonlySet<string>): Look | undefined {
  const tasks = `/proc/${pid}/task`
  let ran = ''
  let isRunnable = false
  for (const thread of namesIn(tasks) ?? []) {
    if (!names.has(textOf(`${tasks}/${thread}/comm`)?.trimEnd() ?? '')) continue
    ran += textOf(`${tasks}/${thread}/schedstat`) ?? ''
    const stat = textOf(`${tasks}/${thread}/stat`) ?? ''
    isRunnable ||= stat[stat.lastIndexOf(')') + 2] === 'R'
  }
  return ran === '' ? undefined : { ran, isRunnable }
}

/** Returns whether the threads have worked between two looks. A thread that waits, for example for a lock, has not. */
export function hasWorked(before: Look | undefined, now: Look | undefined): boolean {
  return now !== undefined && (now.isRunnable || (before !== undefined && now.ran !== before.ran))
}

/**
 * Calls `late` after `ms`, like `afterOwnTime`, or later while the threads work: as soon as they have not worked for `ms`, or after
 * MAX_WORK_MS.
 *
 * @param look  looks at the threads
 * @param late  receives the time waited, in ms, and whether the threads still worked
 * @returns a function that cancels the timeout
 */
export function afterWork(
  ms: number,
  look: () => Look | undefined,
  late: (waitedMs: number, works: boolean) => void,
  mostMs = MAX_WORK_MS,
): () => void {
  let before = look()
  let waitedMs = 0
  let idleMs = 0
  let cancel = (): void => {}
  const wait = (): void => {
    cancel = afterOwnTime(ms / 2, () => {
      waitedMs += ms / 2
      const now = look()
      const works = hasWorked(before, now)
      idleMs = works ? 0 : idleMs + ms / 2
      before = now
      if (idleMs < ms && waitedMs < mostMs) wait()
      else late(waitedMs, works)
    })
  }
  wait()
  return () => cancel()
}
