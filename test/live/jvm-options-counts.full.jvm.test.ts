// Scheme b counts the calls of a program with a known calling context tree exactly, and detaches with proof, on JVMs with each option that
// changes how the JVM runs code or stores objects. JFLUID_UPDATE=1 writes the table in docs/jvm-options.md.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { callsByPath, lines, startRecording } from '../support/jfluid.ts'
import { expectProof, optionsOf, withArchive } from './jvm-options-list.ts'
import { putRow } from './jvm-options-table.ts'

const PROGRAM = ['fix.KnownTree', '4', '50']

/** Expects that scheme b counts the calls of a known tree exactly, in two sessions. Returns the longest pause, in ms. */
async function expectCounts(jdk: Jdk, options: readonly string[], classes: string): Promise<number> {
  let longestMs = 0
  const java = startJava(jdk, [...options, '-cp', classes, 'fix.KnownTree', '4', '50'])
  await java.line(/ready/)
  for (const round of [1, 2]) {
    const recording = startRecording(java.pid, '--root', 'fix.KnownTree.task', '--scheme', 'b')
    await recording.started
    java.send('run 3')
    await java.line(/done/, round)
    const from = java.stdout().length
    java.send('expect')
    await java.line(/^end/, round)
    const profile = await recording.stop()
    const expected = parseExpectation(java.stdout().slice(from))
    const found = callsByPath(profile.merged)
    expect(lines(found)).toEqual(lines(new Map([...expected].map(([it, calls]) => [it, 3 * calls]))))
    expect(profile.truncated).toBe(false)
    const { detach, instrumentation } = await readProfile(recording.file)
    expectProof(detach)
    longestMs = Math.max(longestMs, instrumentation.longestPauseMs ?? 0, detach!.pauseMs ?? 0)
  }
  java.send('quit')
  expect(await java.exit).toEqual({ code: 0, signal: null })
  return longestMs
}

/** Packs the program, since a JVM archives no classes of a directory, and runs it once for the archive. */
async function archived(
  jdk: Jdk,
  classes: string,
  train: readonly string[],
): Promise<[jar: string, archive: string]> {
  const directory = temporaryDirectory('jfluid-archive-')
  const [jar, archive] = [join(directory, 'known.jar'), join(directory, 'known.archive')]
  await promisify(execFile)(join(jdk.home, 'bin', 'jar'), ['cf', jar, '-C', classes, '.'])
  const java = startJava(jdk, [...withArchive(train, archive), '-cp', jar, ...PROGRAM])
  java.send('run 3')
  await java.line(/done/)
  java.send('quit')
  expect((await java.exit).code, java.stderr()).toBe(0)
  return [jar, archive]
}

forEachJdk((jdk) => {
  it.each(optionsOf(jdk))(
    'scheme b counts exactly in two sessions, and each detach is proved, on a JVM with $name',
    { timeout: 300_000 },
    async ({ name, options, train }) => {
      const classes = await compileFixture(jdk, 'KnownTree')
      const [path, archive] = train === undefined ? [classes, ''] : await archived(jdk, classes, train)
      const longestMs = await expectCounts(jdk, withArchive(options, archive), path)
      const option = name.startsWith('-') ? `\`${name}\`` : name
      putRow('option of a small program', [
        option,
        jdk.full,
        'exact',
        `${longestMs.toFixed(1)}`,
        'original, nothing left',
      ])
    },
  )
})
