// Runs programs that count their own calls, under a recording.

import { expect } from 'vitest'
import { CALLS, CALLS_21, compileCalls, counted, recorded } from '../fixtures/calls.ts'
import { startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'

/** One program needs this package to define classes. */
const EXPORT = ['--add-exports', 'java.base/jdk.internal.misc=ALL-UNNAMED']
/** Returns the programs that this JDK can run. */
export const programsOf = (jdk: Jdk): string[] => (jdk.version >= 21 ? [...CALLS, ...CALLS_21] : [...CALLS])

/** Runs the programs under one recording and compares the recorded calls of each program with its own counts. */
export async function profileCalls(jdk: Jdk, scheme: string, programs: readonly string[]): Promise<void> {
  const java = startJava(jdk, [...EXPORT, '-cp', await compileCalls(jdk), 'calls.Main'])
  await java.line(/ready/)
  for (const it of programs) {
    java.send(`prepare ${it}`)
    await java.line(new RegExp(`prepared ${it}`))
  }
  const roots = programs.flatMap((it) => ['--root', `calls.${it}.root`])
  const recording = startRecording(java.pid, ...roots, '--scheme', scheme)
  await recording.started
  for (const it of programs) {
    java.send(`run ${it}`)
    await java.line(new RegExp(`done ${it}`))
  }
  const profile = await recording.stop()
  java.send('expect')
  await java.line(/^end/)
  expect(java.stdout()).not.toMatch(/^failed/m)
  for (const it of programs) {
    const counts = counted(java.stdout(), it)
    expect(counts.length).toBeGreaterThan(1)
    const tree = profile.merged.filter((node) => node.class === `calls.${it}`)
    expect(recorded(tree, counts), it).toEqual(counts)
  }
  expect(profile.instrumentation.gaps).toBe(0)
  expect(profile.instrumentation.healed).toBe(0)
}
