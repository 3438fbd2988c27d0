// Allocations in a tree (--mode alloc): a node below a method stands for a class that the method allocates. The target reports an
// allocation as a call, so builders need no special case. measures/allocation/sink.ts converts numbers of calls to numbers of objects.
//
// Bytes of a root call that no allocation site below the root has reported are in the row NOT_ATTRIBUTED, a child of the root.

import { PRIMITIVES } from '../base/primitives.ts'
import { FIRST_METHOD_BESIDE_CLASSES, NOT_ATTRIBUTED } from '../events/event-layout.ts'
import { COLLAPSED } from './nodes.ts'
import type { MethodName, Snapshot, ThreadTree, Tree } from './tree.ts'

/** Method name of class rows. No method has this name, and class rows have no descriptor. */
export const ALLOCATION = 'new'

/** Name of the row with the bytes of a root call that no allocation site has reported. */
export const NOT_ATTRIBUTED_NAME: MethodName = {
  class: '',
  method: '(not attributed)',
  descriptor: '',
  loader: '',
}

/** Returns whether an id in the target's numbering stands for a class. In a profile, use `isAllocation` on the name instead. */
export function isClassId(id: number): boolean {
  return id > 0 && id < NOT_ATTRIBUTED
}

export function isAllocation({ method, descriptor }: MethodName): boolean {
  return descriptor === '' && method === ALLOCATION
}

export function isNotAttributed({ method, descriptor }: MethodName): boolean {
  return descriptor === '' && method === NOT_ATTRIBUTED_NAME.method
}

/** Returns whether no row below the row repeats its bytes. A method's own bytes are repeated in the rows of its allocated classes. */
export function holdsBytes(name: MethodName): boolean {
  return isAllocation(name) || isNotAttributed(name)
}

/** Parses a class name in the format that the target sends: "java.lang.String\nbootstrap". */
export function allocationName(told: string): MethodName {
  const [name = '?', loader = '?'] = told.split('\n')
  return { class: sourceArray(name), method: ALLOCATION, descriptor: '', loader }
}

/** Converts a JVM array type to source notation: "[[I" becomes "int[][]". */
function sourceArray(name: string): string {
  const element = name.replace(/^\[+/, '')
  const dimensions = name.length - element.length
  if (dimensions === 0) return name
  const of = PRIMITIVES[element] ?? element.replace(/^L|;$/g, '')
  return of + '[]'.repeat(dimensions)
}

/**
 * Renumbers the ids without gaps: the class ids, then the id of the row NOT_ATTRIBUTED, then the method ids. The target leaves a range of
 * unused ids between classes and methods.
 */
export function withDenseIds(
  names: readonly MethodName[],
  { merged, threads }: Pick<Snapshot, 'merged' | 'threads'>,
): { methodNames: MethodName[]; merged: Tree; threads: ThreadTree[] } {
  let classes = 0
  for (let id = 1; id < NOT_ATTRIBUTED; id++) if (names[id] !== undefined) classes = id
  for (const tree of [merged, ...threads.map((it) => it.tree)])
    for (const id of tree.method) if (isClassId(id) && id > classes) classes = id
  const ofClasses = names.slice(0, classes + 1)
  for (let id = 1; id <= classes; id++) ofClasses[id] ??= allocationName('?')
  const methodNames = ofClasses.concat(NOT_ATTRIBUTED_NAME, names.slice(FIRST_METHOD_BESIDE_CLASSES))
  const dense = (id: number) => (id === COLLAPSED || isClassId(id) ? id : id - NOT_ATTRIBUTED + classes + 1)
  const methodOf = (old: Int32Array): Int32Array => {
    const all = new Int32Array(methodNames.length)
    for (let id = 1; id <= classes + 1; id++) all[id] = id
    for (let id = FIRST_METHOD_BESIDE_CLASSES; id < old.length; id++) all[dense(id)] = dense(old[id]!)
    return all
  }
  const renumber = (tree: Tree): Tree => ({
    ...tree,
    method: tree.method.map(dense),
    ...(tree.methodOf !== undefined && { methodOf: methodOf(tree.methodOf) }),
  })
  const done = new Map<Tree, Tree>() // With one thread, `merged` and the thread's tree are one object.
  const once = (tree: Tree): Tree => {
    const known = done.get(tree) ?? renumber(tree)
    done.set(tree, known)
    return known
  }
  return { methodNames, merged: once(merged), threads: threads.map((it) => ({ ...it, tree: once(it.tree) })) }
}
