// Samples of a whole JVM, and the flight recorder that takes them.

import { expect } from 'vitest'
import type { JavaProcess } from '../support/java-process.ts'
import type { JsonNode, JsonProfile } from '../support/jfluid.ts'

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
