// Samples of a whole JVM, and its flight recorder.

import { expect } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import {
  AUTOSAVED,
  type JsonNode,
  type JsonProfile,
  type Ran,
  recordedSoFar,
  startJfluid,
  stderrLine,
} from '../support/jfluid.ts'

/** Starts `fix.Sampled` at rest, since idle busy programs would take processor time from other tests. */
export async function startAtRest(jdk: Jdk, ...options: string[]): Promise<JavaProcess> {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled'])
  await java.line(/^ready/)
  java.send('r')
  return java
}

export type Work = 'while it records' | 'from the start'

/**
 * Runs `jfluid record` while the program works. The program rests afterwards.
 *
 * @param enough  a duration, or a condition: then the flags contain the file, and the recording ends when its profile meets the condition
 */
export async function recordAtWork(
  java: JavaProcess,
  work: Work,
  enough: string | ((profile: JsonProfile) => boolean),
  ...flags: string[]
): Promise<Ran> {
  if (work === 'from the start') java.send('w')
  const duration = typeof enough === 'string' ? [enough] : ['10m', ...AUTOSAVED]
  const p = startJfluid('record', String(java.pid), '--duration', ...duration, ...flags)
  await Promise.race([stderrLine(p, /^(?:recording|sampling)/), p.exit])
  java.send('w')
  if (typeof enough !== 'string') {
    await recordedSoFar({ process: p, file: flags[flags.indexOf('--out') + 1]! }, enough)
    p.child.kill('SIGINT')
  }
  const { code } = await p.exit
  java.send('r')
  return { code, stdout: p.stdout(), stderr: p.stderr() }
}

/** Ends the JVM normally. On a normal exit, but not when it is killed, it deletes the files of its flight recorder. */
export async function quit(java: JavaProcess): Promise<void> {
  java.child.stdin?.end()
  await java.exit
}

export const SAMPLE = ['--mode', 'sample'] as const
/** Options for the flight recorder, on every JDK. If --sampler is given twice, the last one is used. */
export const BY_RECORDER = [...SAMPLE, '--sampler', 'jfr'] as const
/** Settings of a flight recording that jfluid has not started. */
export const KEPT = { durationSeconds: 60, keptSeconds: 60, keptMib: 32 } as const

/** Returns the samples of all nodes with this method name and of their descendants. */
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
