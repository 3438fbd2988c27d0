// What the stacks say about a root that is not called: it may be running already (our probes only see
// its next call), or sit on a stack below methods that would do as roots.

import type { StackRow } from '../wire/messages.ts'

export interface RootOnStack {
  /** `fix.Blocker.serve` */
  readonly root: string
  readonly thread: string
  /** What it is calling right now, nearest first, without JDK frames: candidates for a root. */
  readonly callees: readonly string[]
}

/**
 * Finds roots that are on a stack now.
 *
 * @param roots  class name with dots and method name of each root method
 */
export function rootsOnStacks(
  stacks: readonly StackRow[],
  roots: readonly { readonly class: string; readonly method: string }[],
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
        .map((f) => `${f.class}.${f.method}`)
      found.push({
        root: `${root.class}.${root.method}`,
        thread: stack.name,
        callees: [...new Set(callees)].slice(0, 3),
      })
    }
  }
  return found
}

/** One sentence for the status line. */
export function describeRootOnStack(found: readonly RootOnStack[]): string {
  const { root, thread, callees } = found[0]!
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : ''
  const advice = callees.length > 0 ? `; its callees would do as roots: ${callees.join(', ')}` : ''
  return `${root} is running in thread "${thread}"${more} since before the attach: its next call is profiled${advice}`
}
