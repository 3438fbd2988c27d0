// A session that is steered by hand while it runs: other roots, in the same JVM, while four threads are inside the old ones.

import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { RootNeverInstrumented, RootNotFound, RootNotLoaded } from '../../src/reveal/errors.ts'
import { parseRoot } from '../../src/reveal/patterns.ts'
import { attachDoor } from '../../src/session/door.ts'
import { Session } from '../../src/session/session.ts'
import { parseExpectation, splitPath } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import type { JavaProcess } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByPath, type JsonProfile, lines } from '../support/jfluid.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { added, descriptors, filesOf, threadNames } from './remains.ts'

/** Without its lambdas: a redefinition makes new classes of them. */
const OF_ALL = 'Lfix/KnownTree;'

async function ask(java: JavaProcess, line: string, answer: RegExp, nth: number): Promise<void> {
  java.send(line)
  await java.line(answer, nth)
}

/** The part of a known tree that a root which lies within it sees: cut where it is first entered. */
function under(root: string, tree: ReadonlyMap<string, number>): Map<string, number> {
  const part = new Map<string, number>()
  for (const [path, calls] of tree) {
    const steps = splitPath(path)
    const at = steps.findIndex((step) => step.startsWith(`${root}(`))
    if (at < 0) continue
    const cut = steps.slice(at).join(';')
    part.set(cut, (part.get(cut) ?? 0) + calls)
  }
  return part
}

async function jsonOf(session: Session): Promise<JsonProfile> {
  return JSON.parse([...jsonPieces(await session.profile())].join('')) as JsonProfile
}

forEachJdk((jdk) => {
  it.each(['a', 'b'] as const)('scheme %s: other roots are recorded from zero, exactly', async (scheme) => {
    const classes = await compileFixture(jdk, 'KnownTree')
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.KnownTree', '4', '10'])
    await ask(java, 'expect', /^end/, 1)
    const tree = parseExpectation(java.stdout())
    await ask(java, 'run', /^done/, 1)
    const code = await liveCode(jvm, OF_ALL)

    const options = sessionOptions({ root: ['fix.KnownTree.task'], scheme, lookAhead: 8 })
    const session = await Session.start(await attachDoor(java.pid), options)
    await ask(java, 'run', /^done/, 2)
    const threads = await threadNames(java.pid)
    const open = descriptors(java.pid)

    for (const [root, problem] of [
      ['fix.KnownTree.nothing', RootNotFound],
      ['fix.Nowhere.split', RootNotLoaded],
      ['java.lang.Integer.bitCount', RootNeverInstrumented],
    ] as const) {
      await expect(session.changeRoots([parseRoot(root)])).rejects.toThrow(problem)
    }
    expect([session.generation, session.rootNames]).toEqual([0, ['fix.KnownTree.task']])
    expect(session.ending).toBeNull()
    const { merged } = await session.snapshot(false)
    expect(merged.metrics.calls![0]).toBe(4)

    java.send('run 60')
    const phases: string[] = []
    await session.changeRoots([parseRoot('fix.KnownTree.split')], (phase) => phases.push(phase))
    expect(phases.at(-1)).toBe('recording')
    expect([session.generation, session.rootNames]).toEqual([1, ['fix.KnownTree.split']])
    // The old root has its own code again.
    const now = await liveCode(jvm, OF_ALL)
    expect(now.get('Lfix/KnownTree;.task(I)J')).toBe(code.get('Lfix/KnownTree;.task(I)J'))
    expect(probed(now)).not.toEqual([])
    await java.line(/^done/, 3)
    session.reset()
    await ask(java, 'run', /^done/, 4)

    await session.detach()
    const profile = await jsonOf(session)
    await session.close()
    expect(lines(callsByPath(profile.merged))).toEqual(lines(under('fix.KnownTree.split', tree)))
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
    expect([profile.truncated, profile.roots]).toEqual([false, ['fix.KnownTree.split']])
    expect(await liveCode(jvm, OF_ALL)).toEqual(code)
    expect(added(threads, await threadNames(java.pid))).toEqual([])
    expect(added(open, descriptors(java.pid))).toEqual([])
    expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
  })

  it('a session that is left while its roots are changed leaves nothing', async () => {
    const classes = await compileFixture(jdk, 'KnownTree')
    const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.KnownTree', '4', '10'])
    await ask(java, 'run', /^done/, 1)
    const code = await liveCode(jvm, OF_ALL)
    const options = sessionOptions({ root: ['fix.KnownTree.task'], scheme: 'b', lookAhead: 8 })
    const session = await Session.start(await attachDoor(java.pid), options)
    const changed = session.changeRoots([parseRoot('fix.KnownTree.split')])
    await session.detach()
    await changed
    expect(session.ending).toEqual({ how: 'detached' })
    await session.close()
    expect(await liveCode(jvm, OF_ALL)).toEqual(code)
    expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
  })
})
