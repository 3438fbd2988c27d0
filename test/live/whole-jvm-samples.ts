// Samples of a whole JVM, and the flight recorder that takes them.

import { expect } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, type Ran, startJfluid, stderrLine } from '../support/jfluid.ts'

/** `fix.Sampled`, at rest: what is busy in vain takes the time of others. */
export async function startAtRest(jdk: Jdk, ...options: string[]): Promise<JavaProcess> {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled'])
  await java.line(/^ready/)
  java.send('r')
  return java
}

export type Work = 'while it records' | 'from the start'

/** `jfluid record` of it for so long; it rests afterwards. */
export async function recordAtWork(
  java: JavaProcess,
  work: Work,
  duration: string,
  ...flags: string[]
): Promise<Ran> {
  if (work === 'from the start') java.send('w')
  const p = startJfluid('record', String(java.pid), '--duration', duration, ...flags)
  await Promise.race([stderrLine(p, /^(?:recording|sampling)/), p.exit])
  java.send('w')
  const { code } = await p.exit
  java.send('r')
  return { code, stdout: p.stdout(), stderr: p.stderr() }
}

/** Its own end removes what its flight recorder has left; being killed does not. */
export async function quit(java: JavaProcess): Promise<void> {
  java.child.stdin?.end()
  await java.exit
}

export const SAMPLE = ['--mode', 'sample'] as const
/** On every JDK; of two samplers the last counts. */
export const BY_RECORDER = [...SAMPLE, '--sampler', 'jfr'] as const
/** Of a recording that is not ours. */
export const KEPT = { durationSeconds: 60, keptSeconds: 60, keptMib: 32 } as const

/** Samples below all nodes of that name, and of their own. */
export function samplesIn(nodes: readonly JsonNode[], method: string): number {
  return nodes.reduce(
    (sum, it) => sum + (it.method === method ? it.totalSamples! : samplesIn(it.children, method)),
    0,
  )
}

export function busyThread({ threads }: JsonProfile): JsonNode[] {
  const found = threads.filter(({ name }) => name === 'busy')
  expect(found.length).toBe(1)
  return found[0].roots
}
