// Sessions on a program that measures itself (fix.KnownTimes).

import { expect } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, type Recording, startRecording } from '../support/jfluid.ts'

/** One call of the root, in nanoseconds; `from` and `to` are the target's System.nanoTime(). */
export interface Phase {
  inside: number
  around: number
  task: number
  from: number
  to: number
}

export function phases(java: JavaProcess, name: string): Phase[] {
  const line = new RegExp(
    `^${name} \\S+ inside (\\d+) around (\\d+) task (\\d+) from (\\d+) to (\\d+)$`,
    'gm',
  )
  return [...java.stdout().matchAll(line)].map((found) => {
    const [inside, around, task, from, to] = found.slice(1).map(Number)
    return { inside, around, task, from, to }
  })
}

export const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0)
export const least = <T>(list: readonly T[], of: (item: T) => number): number => Math.min(...list.map(of))

/** The only node at `path`, by method names from a root down. */
export function nodeAt(roots: readonly JsonNode[], ...path: string[]): JsonNode {
  let nodes = roots
  let found: JsonNode | undefined
  for (const method of path) {
    found = nodes.find((it) => it.method === method)
    if (found === undefined) throw new Error(`no ${method} among ${nodes.map((it) => it.method).join()}`)
    nodes = found.children
  }
  if (found === undefined) throw new Error('an empty path')
  return found
}

/** Time between a node's stamps and those below it, probes included. */
export const measured = (node: JsonNode): number => node.measuredNs + sum(node.children, measured)

/** Every total is the self times below it, summed: nothing is lost, nothing is there twice. */
export function expectExactSums(profile: JsonProfile): void {
  const visit = (node: JsonNode): void => {
    const parts = node.selfNs + sum(node.children, (it) => it.totalNs)
    // Both are sums of doubles, in another order: 2^-53 of the largest for each of them.
    const largest = Math.max(Math.abs(node.totalNs), Math.abs(node.selfNs))
    const rounding = (node.children.length + 1) * largest * 2 ** -52
    expect(Math.abs(node.totalNs - parts), node.method).toBeLessThanOrEqual(rounding)
    for (const child of node.children) visit(child)
  }
  expect(profile.merged.length).toBeGreaterThan(0)
  for (const root of [...profile.merged, ...profile.threads.flatMap((it) => it.roots)]) visit(root)
}

/**
 * `inside` ≤ time ≤ `around`, give or take what the conversion of ticks may be wrong by: two pairs of
 * readings at most a microsecond off each, over a session of half a second at least, are 4 in a million. A
 * thousandth allows for a reading that was interrupted. And 50 us for t_I, t_O and short phases.
 */
export function expectBetween(timeNs: number, inside: number, around: number): void {
  expect(timeNs).toBeGreaterThanOrEqual(inside * 0.999 - 50_000)
  expect(timeNs).toBeLessThanOrEqual(around * 1.001 + 50_000)
}

export async function started(jdk: Jdk, ...options: string[]): Promise<JavaProcess> {
  const classes = await compileFixture(jdk, 'KnownTimes')
  const java = startJava(jdk, [...options, '-cp', classes, 'fix.KnownTimes'])
  await java.line(/^ready/)
  return java
}

export async function recorded(java: JavaProcess, ...flags: string[]): Promise<Recording> {
  const recording = startRecording(java.pid, '--root', 'fix.KnownTimes.task', ...flags)
  await recording.started
  return recording
}

/** What it recorded, of which the sums are exact. */
export async function stopped(recording: Recording): Promise<JsonProfile> {
  const profile = await recording.stop()
  expect(profile.truncated).toBe(false)
  expectExactSums(profile)
  return profile
}

export async function finished(recording: Recording): Promise<JsonProfile> {
  const profile = await stopped(recording)
  expect(profile.instrumentation.gaps).toBe(0)
  return profile
}

/** Sends a command and waits until it has been carried out. */
export async function command(java: JavaProcess, line: string): Promise<void> {
  await ask(java, line, /^done /)
}
