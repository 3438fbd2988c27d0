// Explains why a root is not called. The root may be running already, and probes record only its next call. In this case, its callees on
// the stack are suggested as roots.

import type { MethodName } from '../../cct/tree.ts'
import type { StackRow } from '../../wire/messages.ts'
import { rootText } from './root-names.ts'

/** Maximum number of callees in the text. */
export const MAX_CALLEES = 3

/** Class of the target's runtime in which threads wait for answers (JFluid1Requests.java). */
const ASKING = 'java.lang.JFluid1Requests'

/** A method as named in a stack trace: with dots in the class name, without the overload. */
export type StackMethod = Pick<MethodName, 'class' | 'method'>

export interface RootOnStack {
  /** `fix.Blocker.serve` */
  readonly root: string
  readonly thread: string
  /** Methods below the root on the stack, without JDK methods, nearest first. Each may be used as a root instead. */
  readonly callees: readonly string[]
  /** Whether the thread waits for an answer of the client. The call is recorded after the answer. */
  readonly isAsking: boolean
}

/**
 * Finds roots that are on a stack now.
 *
 * @param roots  class name with dots and method name of each root method
 */
export function rootsOnStacks(
  stacks: readonly StackRow[],
  roots: readonly StackMethod[],
  isExcluded: (className: string) => boolean,
): RootOnStack[] {
  const found: RootOnStack[] = []
  for (const stack of stacks) {
    for (const root of roots) {
      const at = stack.frames.findIndex((f) => f.class === root.class && f.method === root.method)
      if (at < 0) continue
      const callees = stack.frames
        .slice(0, at)
        .reverse()
        .filter((f) => !isExcluded(f.class) && !(f.class === root.class && f.method === root.method))
        .map(rootText)
      found.push({
        root: rootText(root),
        thread: stack.name,
        callees: [...new Set(callees)].slice(0, MAX_CALLEES),
        isAsking: stack.frames.some((f) => f.class === ASKING),
      })
    }
  }
  return found
}

/**
 * Returns one sentence for the status line.
 *
 * @param calls  methods that the root's code calls. They are suggested too, since the root may currently be in the JDK or in another callee
 */
export function describeRootOnStack(
  found: readonly RootOnStack[],
  calls: readonly StackMethod[] = [],
  isRegion = false,
): string {
  const { root, thread, callees } = found[0]!
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : ''
  if (isRegion) {
    return `${root} is running in thread "${thread}"${more} since before the attach: timing starts with its next call`
  }
  const all = [...new Set([...callees, ...calls.map(rootText)])].slice(0, MAX_CALLEES)
  const advice = all.length > 0 ? `; methods that it calls are possible roots: ${all.join(', ')}` : ''
  return `${root} is running in thread "${thread}"${more} since before the attach: recording starts with its next call${advice}`
}

/** Returns one sentence about a root that is on no stack. It names callees of the root, since other methods may call these callees. */
export function describeIdleRoot(root: string, calls: readonly StackMethod[], isRegion = false): string {
  if (isRegion) return `region ${root} has not been executed yet`
  const advice =
    calls.length > 0
      ? `; possible roots, if other methods call them: ${calls.slice(0, MAX_CALLEES).map(rootText).join(', ')}`
      : ''
  return `root ${root} has not been called yet${advice}`
}
