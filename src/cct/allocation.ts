// Allocations in a tree (--mode alloc): a node below a method stands for a class that the method allocates. The target reports an
// allocation as a call, so builders need no special case. measures/allocation/sink.ts turns the calls into objects.

import { PRIMITIVES } from '../base/primitives.ts'
import { FIRST_METHOD_BESIDE_CLASSES } from '../events/event-layout.ts'
import { COLLAPSED } from './nodes.ts'
import type { MethodName, Snapshot, ThreadTree, Tree } from './tree.ts'

/** Method name of class rows. No method has this name, and class rows have no descriptor. */
export const ALLOCATION = 'new'

/** Returns whether an id in the target's numbering stands for a class. In a profile, use `isAllocation` on the name instead. */
export function isClassId(id: number): boolean {
  return id > 0 && id < FIRST_METHOD_BESIDE_CLASSES
}

export function isAllocation({ method, descriptor }: MethodName): boolean {
  return descriptor === '' && method === ALLOCATION
}

/** Parses a name as the target sends it: "java.lang.String\nbootstrap". */
export function allocationName(told: string): MethodName {
  const [name = '?', loader = '?'] = told.split('\n')
  return { class: sourceArray(name), method: ALLOCATION, descriptor: '', loader }
}

/** Converts to source notation: "[[I" becomes "int[][]". */
function sourceArray(name: string): string {
  const element = name.replace(/^\[+/, '')
  const dimensions = name.length - element.length
  if (dimensions === 0) return name
  const of = PRIMITIVES[element] ?? element.replace(/^L|;$/g, '')
  return of + '[]'.repeat(dimensions)
}

/**
 * Renumbers methods so that their ids follow directly on those of classes. The target leaves a range of unused ids between classes and
 * methods.
 */
export function withDenseIds(
  names: readonly MethodName[],
  { merged, threads }: Pick<Snapshot, 'merged' | 'threads'>,
): { methodNames: MethodName[]; merged: Tree; threads: ThreadTree[] } {
  let classes = 0
  for (let id = 1; id < FIRST_METHOD_BESIDE_CLASSES; id++) if (names[id] !== undefined) classes = id
  for (const tree of [merged, ...threads.map((it) => it.tree)])
    for (const id of tree.method) if (isClassId(id) && id > classes) classes = id
  const ofClasses = names.slice(0, classes + 1)
  for (let id = 1; id <= classes; id++) ofClasses[id] ??= allocationName('?')
  const methodNames = ofClasses.concat(names.slice(FIRST_METHOD_BESIDE_CLASSES))
  const dense = (id: number) =>
    id === COLLAPSED || isClassId(id) ? id : id - FIRST_METHOD_BESIDE_CLASSES + classes + 1
  const methodOf = (old: Int32Array): Int32Array => {
    const all = new Int32Array(methodNames.length)
    for (let id = 1; id <= classes; id++) all[id] = id
    for (let id = FIRST_METHOD_BESIDE_CLASSES; id < old.length; id++) all[dense(id)] = dense(old[id]!)
    return all
  }
  const renumber = (tree: Tree): Tree => ({
    ...tree,
    method: tree.method.map(dense),
    ...(tree.methodOf !== undefined && { methodOf: methodOf(tree.methodOf) }),
  })
  const done = new Map<Tree, Tree>() // The tree of a single thread is also the merged tree.
  const once = (tree: Tree): Tree => {
    const known = done.get(tree) ?? renumber(tree)
    done.set(tree, known)
    return known
  }
  return { methodNames, merged: once(merged), threads: threads.map((it) => ({ ...it, tree: once(it.tree) })) }
}
