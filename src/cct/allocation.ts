// Allocations in a tree (--mode alloc): what is below a method and stands for a class of which it allocates.
// The target tells an allocation as a call, so builders need not know; measures/allocation/sink.ts makes the calls objects.

import { FIRST_METHOD_BESIDE_CLASSES } from '../events/event-layout.ts'
import { COLLAPSED } from './nodes.ts'
import type { MethodName, Snapshot, ThreadTree, Tree } from './tree.ts'

/** Rows of classes are called this, as no method is: it has no descriptor either. */
export const ALLOCATION = 'new'

/** Whether an id of the target stands for a class. In a profile, ask its name: `isAllocation`. */
export function isClassId(id: number): boolean {
  return id > 0 && id < FIRST_METHOD_BESIDE_CLASSES
}

export function isAllocation({ method, descriptor }: MethodName): boolean {
  return descriptor === '' && method === ALLOCATION
}

/** "java.lang.String\nbootstrap", as the target tells it. */
export function allocationName(told: string): MethodName {
  const [name = '?', loader = '?'] = told.split('\n')
  return { class: sourceArray(name), method: ALLOCATION, descriptor: '', loader }
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  ...{ Z: 'boolean', C: 'char', F: 'float', D: 'double', B: 'byte', S: 'short', I: 'int', J: 'long' },
}

/** As one writes it: "[[I" is "int[][]". */
function sourceArray(name: string): string {
  const element = name.replace(/^\[+/, '')
  const dimensions = name.length - element.length
  if (dimensions === 0) return name
  const of = PRIMITIVES[element] ?? element.replace(/^L|;$/g, '')
  return of + '[]'.repeat(dimensions)
}

/**
 * Names and trees with the ids of methods right behind those of classes: the target leaves room between them, for which
 * a profile has no use.
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
  const done = new Map<Tree, Tree>() // one thread's tree is the merged one, too
  const once = (tree: Tree): Tree => {
    const known = done.get(tree) ?? renumber(tree)
    done.set(tree, known)
    return known
  }
  return { methodNames, merged: once(merged), threads: threads.map((it) => ({ ...it, tree: once(it.tree) })) }
}
