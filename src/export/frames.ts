// What formats of stacks share: names of frames, and the path from a top node down to a context.

import { isAllocation } from '../cct/allocation.ts'
import { costsOf, metricOf } from '../cct/metric.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import { fullName, placeText } from '../profile/text.ts'

export interface FrameNames {
  /** `com.acme.Foo.bar`, behind it the place it is called from where that is told; no control characters. */
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

/** Text without line ends, other control characters, and those that turn what is read around. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?')
}

/** What a thread is called in formats that have one name for it. */
export function threadTitle({ id, name }: { readonly id: number; readonly name: string }): string {
  return `${printable(name)} id=${id}`
}

/** Moves `path`, the nodes from a top node down, on to `node`, the next one in preorder. */
export function moveTo(path: number[], node: number, size: Int32Array): void {
  while (path.length > 0 && node >= path[path.length - 1] + size[path[path.length - 1]]) path.pop()
  path.push(node)
}

/**
 * Formats that repeat a context's whole path would have gigabytes of a tree 100,000 deep; they keep
 * this many frames nearest the root and as many nearest the method, and say how many are missing.
 */
const FRAMES_EACH_END = 256

/** Frames of a path that are left out: from, to (exclusive); both the length of the path if none are. */
export function leftOut(path: readonly number[]): { readonly from: number; readonly to: number } {
  const { length } = path
  return length > 2 * FRAMES_EACH_END
    ? { from: FRAMES_EACH_END, to: length - FRAMES_EACH_END }
    : { from: length, to: length }
}

/** Stands for frames that are left out. */
export function leftOutText({ from, to }: { readonly from: number; readonly to: number }): string {
  return `[${to - from} frames]`
}

/** Of each node of a path, from the top node down; frames that are left out are one. */
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

/** What a node costs by itself. What a method allocates is what the rows of classes below it say: only these have it. */
export function ownCosts(tree: Tree, { nameOf }: FrameNames): (node: number) => number {
  const { self } = costsOf(tree)
  if (!metricOf(tree).hasClasses) return (node) => self[node]!
  return (node) => (isAllocation(nameOf(tree.method[node]!)) ? self[node]! : 0)
}

/** A tree to be written, of one thread or of all of them. */
export interface NamedTree {
  readonly tree: Tree
  /** Absent if it is of all threads. */
  readonly thread?: { readonly id: number; readonly name: string }
}

/** One a thread, of those that called anything; or all of them merged. */
export function treesOf(profile: Profile, threads = false): NamedTree[] {
  if (!threads) return [{ tree: profile.merged }]
  return profile.threads
    .filter(({ tree }) => tree.count > 0)
    .map(({ tree, id, name }) => ({ tree, thread: { id, name } }))
}
