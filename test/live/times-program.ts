// Sessions on a program that measures itself (fix.KnownTimes).

import { expect } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, type Recording, startRecording } from '../support/jfluid.ts'

/** One call of the root, times in ns. `from` and `to` are values of the target's System.nanoTime(). */
export interface Phase {
  thread: string
  inside: number
  around: number
  task: number
  from: number
  to: number
}

export function phases(java: JavaProcess, name: string): Phase[] {
  const line = new RegExp(
    `^${name} (\\S+) inside (\\d+) around (\\d+) task (\\d+) from (\\d+) to (\\d+)$`,
    'gm',
  )
  return [...java.stdout().matchAll(line)].map((found) => {
    const [inside, around, task, from, to] = found.slice(2).map(Number)
    return { thread: found[1]!, inside, around, task, from, to }
  })
}

export const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0)
export const least = <T>(list: readonly T[], of: (item: T) => number): number => Math.min(...list.map(of))

/** Returns the only node at `path`, which consists of method names from a root downwards. */
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

/** Returns the sum of the measured times of a node and its descendants, including the cost of probes. */
export const measured = (node: JsonNode): number => node.measuredNs + sum(node.children, measured)

/** Expects that each total time is the sum of the self times of the node and its descendants, so that no time is lost or counted twice. */
export function expectExactSums(profile: JsonProfile): void {
  const visit = (node: JsonNode): void => {
    const parts = node.selfNs + sum(node.children, (it) => it.totalNs)
    // Both values are sums of doubles in different orders. Each addition has a rounding error of 2^-53 of the largest value.
    const largest = Math.max(Math.abs(node.totalNs), Math.abs(node.selfNs))
    const rounding = (node.children.length + 1) * largest * 2 ** -52
    expect(Math.abs(node.totalNs - parts), node.method).toBeLessThanOrEqual(rounding)
    for (const child of node.children) visit(child)
  }
  expect(profile.merged.length).toBeGreaterThan(0)
  for (const root of [...profile.merged, ...profile.threads.flatMap((it) => it.roots)]) visit(root)
}

/**
 * Expects `inside` ≤ time ≤ `around`, within the error of the conversion of ticks: two pairs of clock readings with an error of at most 1
 * µs each, over a session of at least 0.5 s, are 4 ppm. The tolerance of 0.1 % allows for an interrupted reading, and 50 µs allow for t_I,
 * t_O and short phases.
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

/** Stops the recording and returns its profile, after a check that the sums are exact. */
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

/** Sends a command and waits until the program has executed it. */
export async function command(java: JavaProcess, line: string): Promise<void> {
  await ask(java, line, /^done /)
}
