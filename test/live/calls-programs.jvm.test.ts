// Every way a method can be called, in programs that count their own calls: all are found, by path.

import { describe, expect, it } from 'vitest'
import { CALLS, CALLS_21, compileCalls, counted, recorded } from '../fixtures/calls.ts'
import { startJava } from '../support/java-process.ts'
import { type Jdk, newestOrAll } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

/** A program defines classes with it. */
const EXPORT = ['--add-exports', 'java.base/jdk.internal.misc=ALL-UNNAMED']
const programsOf = (jdk: Jdk): string[] => (jdk.version >= 21 ? [...CALLS, ...CALLS_21] : [...CALLS])

/** Runs the programs under one recording and compares each with what it counted itself. */
async function profile(jdk: Jdk, scheme: string, programs: readonly string[]): Promise<void> {
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

describe.each(newestOrAll)('JDK $version', (jdk) => {
  it.each(['a', 'b'])('scheme %s: every program below one attach is counted exactly', async (scheme) => {
    await profile(jdk, scheme, programsOf(jdk))
  })

  // One at a time nothing is found by accident, because another program led to it.
  const alone = FULL ? ['a', 'b'].flatMap((scheme) => programsOf(jdk).map((it) => [scheme, it])) : []
  it.each(alone)('scheme %s: %s alone is counted exactly', async (scheme, program) => {
    await profile(jdk, scheme, [program])
  })
})
