// Scheme b counts the calls of a program with a known calling context tree exactly, while the JVM collects garbage, and detaches with proof,
// on JVMs with each option that changes how the JVM runs code or stores objects. JFLUID_UPDATE=1 writes the table in docs/jvm-options.md.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachTarget, type Jdk } from '../support/jdks.ts'
import { callsByPath, lines, startRecording } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { expectProof, optionsOf, withArchive } from './jvm-options-list.ts'
import { putRow } from './jvm-options-table.ts'

const PROGRAM = ['fix.KnownTree', '4', '50']

/** Small, so that collections are frequent. */
const HEAP = '-Xmx64m'
/** Of the collections of a session, the first may have begun before the session. */
const COLLECTIONS = 2
/** Number of sessions whose counts are compared. */
const COMPARED = 2
/**
 * Number of further sessions that may have gaps: on a busy machine, jfluid may need more than a second for an answer, and -Xcomp makes each
 * redefinition slow.
 */
const WITH_GAPS = 4

interface Found {
  /** The longest pause of a redefinition, in ms. */
  readonly pauseMs: number
  /** Garbage collections that ended during the calls. */
  readonly collections: number
  /** Number of sessions with gaps, whose counts are not compared. */
  readonly withGaps: number
}

/** Expects that scheme b counts the calls of a known tree exactly, in two sessions with collections and without gaps. */
async function expectCounts(jdk: Jdk, options: readonly string[], classes: string): Promise<Found> {
  let pauseMs = 0
  let collections = 0
  let answers = 0
  const java = startJava(jdk, [...options, HEAP, '-cp', classes, ...PROGRAM])
  await java.line(/ready/)
  const collected = async (): Promise<number> => {
    java.send('collections')
    return Number((await java.line(/^collections/, ++answers)).split(' ')[1])
  }
  let rounds = 0
  let withGaps = 0
  for (let session = 1; session <= COMPARED + withGaps; session++) {
    const recording = startRecording(java.pid, '--root', 'fix.KnownTree.task', '--scheme', 'b')
    await recording.started
    const [before, firstRound] = [await collected(), rounds]
    java.send(`garbage ${COLLECTIONS}`)
    let during = 0
    while (during < COLLECTIONS) {
      java.send('run')
      await java.line(/done/, ++rounds)
      during = (await collected()) - before
    }
    const from = java.stdout().length
    java.send('expect')
    await java.line(/^end/, session)
    const profile = await recording.stop()
    const expected = parseExpectation(java.stdout().slice(from))
    const found = callsByPath(profile.merged)
    const times = rounds - firstRound
    expect(profile.truncated).toBe(false)
    const { detach, instrumentation } = await readProfile(recording.file)
    expectProof(detach)
    pauseMs = Math.max(pauseMs, instrumentation.longestPauseMs ?? 0, detach!.pauseMs ?? 0)
    if (instrumentation.gaps > 0) {
      expect(++withGaps, recording.process.stderr()).toBeLessThanOrEqual(WITH_GAPS)
      continue
    }
    expect(lines(found)).toEqual(lines(new Map([...expected].map(([it, calls]) => [it, times * calls]))))
    collections += during
  }
  java.send('quit')
  expect(await java.exit).toEqual({ code: 0, signal: null })
  return { pauseMs, collections, withGaps }
}

/** Packs the program, since a JVM archives no classes of a directory, and runs it once for the archive. */
async function archived(
  jdk: Jdk,
  classes: string,
  train: readonly string[],
): Promise<[jar: string, archive: string]> {
  const directory = temporaryDirectory('jfluid-archive-')
  const [jar, archive] = [join(directory, 'known.jar'), join(directory, 'known.archive')]
  await promisify(execFile)(join(jdk.tools, 'jar'), ['cf', jar, '-C', classes, '.'])
  const java = startJava(jdk, [...withArchive(train, archive), HEAP, '-cp', jar, ...PROGRAM])
  java.send('run 3')
  await java.line(/done/)
  java.send('quit')
  expect((await java.exit).code, java.stderr()).toBe(0)
  return [jar, archive]
}

forEachTarget((jdk) => {
  const hasArchive = existsSync(join(jdk.home, 'lib', 'server', 'classes.jsa'))
  for (const { name, options, train } of optionsOf(jdk)) {
    itOnlyIf(train === undefined || hasArchive, 'this runtime has no archive of the classes of the JDK')(
      `scheme b counts exactly in two sessions with collections, and each detach is proved, on a JVM with ${name}`,
      { timeout: 600_000 },
      async () => {
        const classes = await compileFixture(jdk, 'KnownTree')
        const [path, archive] = train === undefined ? [classes, ''] : await archived(jdk, classes, train)
        const found = await expectCounts(jdk, withArchive(options, archive), path)
        const option = name.startsWith('-') ? `\`${name}\`` : name
        const counts = found.withGaps === 0 ? 'exact' : `exact; ${found.withGaps} more with gaps`
        putRow('option of a small program', [
          ...[option, jdk.full, counts, `${found.collections}`, found.pauseMs.toFixed(1)],
          'original, nothing left',
        ])
      },
    )
  }
})
