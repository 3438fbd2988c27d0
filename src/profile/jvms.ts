// Facts about each JVM in a profile of several JVMs.

import { type Tree, topSum } from '../cct/tree.ts'
import type { JvmFacts } from './profile.ts'
import { clean, plural, span } from './text.ts'

/** Describes one of several JVMs: "pid 4711, shop.Orders, JDK 25.0.3: 812 calls in 4 threads, 10 s". */
export function jvmText(
  { pid, mainClass, jdk, durationMs, threads, truncated }: JvmFacts,
  calls: number,
): string {
  const cut = truncated ? ', cut short' : ''
  return `pid ${pid}, ${clean(mainClass)}, JDK ${clean(jdk)}: ${plural(calls, 'call')} in ${plural(threads, 'thread')}, ${span(durationMs)}${cut}`
}

/** Returns the sum over all JVMs of the recording's duration times the number of threads. */
export function busyMsOf(jvms: readonly JvmFacts[]): number {
  return jvms.reduce((sum, { durationMs, threads }) => sum + durationMs * Math.max(1, threads), 0)
}

/** Returns the number of root calls: the calls of all top nodes. */
export function topCalls(tree: Tree): number {
  return topSum(tree, 'calls')
}
