// The check before a thread dump of a JVM with many threads.

import { EX_TEMPFAIL, NeedsConsent } from './errors.ts'
import { thousands } from './thousands.ts'
import { namesIn } from './visible.ts'

/** Thrown if a thread dump would stop the JVM for a noticeable time. The user must then consent to the dump. */
export class ManyThreads extends NeedsConsent {
  static sample = () =>
    ['Use the key D again after a second to take the dump.', 'Add --yes to take thread dumps.'].map(
      (hint) => new ManyThreads(4711, 3_006, hint),
    )
  readonly exitCode = EX_TEMPFAIL
  constructor(
    pid: number,
    threads: number,
    readonly hint: string,
  ) {
    super(`JVM ${pid} has ${thousands(threads)} threads, so a thread dump may stop it for a noticeable time`)
  }
}

/**
 * Maximum number of threads for which a dump is taken without consent. With 200 threads of 50 frames, a dump stopped JDK 17 and 25 for 6 ms
 * on a machine with a free processor.
 */
const MAX_THREADS_UNASKED = 1_000

/** @throws ManyThreads if a dump may stop the JVM for a noticeable time */
export function refuseManyThreads(pid: number, hint: string): void {
  const count = namesIn(`/proc/${pid}/task`)?.length ?? 0
  if (count > MAX_THREADS_UNASKED) throw new ManyThreads(pid, count, hint)
}
