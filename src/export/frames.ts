// Code shared by the formats with stacks: names of frames, and the path from a top node down to a context.

import { holdsBytes } from '../cct/allocation.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import { fullName, placeText } from '../profile/text.ts'

export interface FrameNames {
  /** Returns `com.acme.Foo.bar`, followed by its call site if known; without control characters. */
  frame(id: number): string
  nameOf(id: number): MethodName
}

export function frameNames(profile: Profile): FrameNames {
  const known: (string | undefined)[] = []
  const nameOfId = (id: number) => nameOf(profile.methodNames, id)
  const frame = (id: number): string =>
    (known[id] ??= printable(fullName(nameOfId(id)) + placeText(nameOfId(id))))
  return { frame, nameOf: nameOfId }
}

/** Replaces line ends, other control characters, and characters that change the text direction. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?')
}

/** Returns a thread's name for formats with a single name per thread. */
export function threadTitle({ id, name }: { readonly id: number; readonly name: string }): string {
  return `${printable(name)} id=${id}`
}

/** Changes `path`, the list of nodes from a top node down, so that it ends at `node`. `node` must be the next node in preorder. */
export function moveTo(path: number[], node: number, size: Int32Array): void {
  while (path.length > 0 && node >= path[path.length - 1] + size[path[path.length - 1]]) path.pop()
  path.push(node)
}

/**
 * Number of frames kept at each end of a deep path. Formats that write the path of each context would produce gigabytes for a tree with a
 * depth of 100,000. These formats keep this number of frames at the root and at the method, and print the number of omitted frames.
 */
const FRAMES_EACH_END = 256

/** Returns the omitted range of a path: from, to (exclusive). Both equal the path's length if no frame is omitted. */
export function leftOut(path: readonly number[]): { readonly from: number; readonly to: number } {
  const { length } = path
  return length > 2 * FRAMES_EACH_END
    ? { from: FRAMES_EACH_END, to: length - FRAMES_EACH_END }
    : { from: length, to: length }
}

/** Returns the text in place of omitted frames. */
export function leftOutText({ from, to }: { readonly from: number; readonly to: number }): string {
  return `[${to - from} frames]`
}

/** Returns one element per frame of a path, from the top node down, and one element for all omitted frames. */
export function shownFrames<T>(
  path: readonly number[],
  frameOf: (node: number) => T,
  gapOf: (text: string) => T,
): T[] {
  const skip = leftOut(path)
  const head = path.slice(0, skip.from).map((node) => frameOf(node))
  if (skip.from === path.length) return head
  return [...head, gapOf(leftOutText(skip)), ...path.slice(skip.to).map((node) => frameOf(node))]
}

/** Returns a function: the self cost of a node. For allocations, only class nodes have a cost, so that no byte counts twice. */
export function ownCosts(tree: Tree, { nameOf }: FrameNames): (node: number) => number {
  const { self } = costsOf(tree)
  if (!metricOf(tree).hasClasses) return (node) => self[node]!
  return (node) => (holdsBytes(nameOf(tree.method[node]!)) ? self[node]! : 0)
}

/** A tree to write, for one thread or for all threads. */
export interface NamedTree {
  readonly tree: Tree
  /** Thread of the tree; absent if the tree is for all threads. */
  readonly thread?: { readonly id: number; readonly name: string }
}

/** Returns the nonempty trees of the threads if `threads` is true, else the merged tree. */
export function treesOf(profile: Profile, threads = false): NamedTree[] {
  if (!threads) return [{ tree: profile.merged }]
  return profile.threads
    .filter(({ tree }) => tree.count > 0)
    .map(({ tree, id, name }) => ({ tree, thread: { id, name } }))
}
