// Many sessions in one JVM with changing roots and schemes, and one class of 200 methods that is instrumented and restored often enough to
// show any leak.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { Instrumenter, type Task } from '../../src/session/code/instrumenter.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { Agent } from '../../src/wire/agent.ts'
import { parseExpectation, under } from '../fixtures/expectation.ts'
import { compileBig, compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByPath, type JsonProfile, lines } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import {
  attachConnectionsClosed,
  descriptors,
  filesOf,
  jcmd,
  liveObjects,
  threadCount,
  threadNames,
  until,
} from './remains.ts'

/** Sends a line and waits for one further answer. */
async function ask(java: JavaProcess, line: string, answer: RegExp): Promise<string> {
  const at = java.stdout().length
  java.send(line)
  const find = (): string | undefined =>
    java
      .stdout()
      .slice(at, java.stdout().lastIndexOf('\n') + 1)
      .split('\n')
      .find((l) => answer.test(l))
  await until(() => find() !== undefined)
  return find()!
}

const mean = (a: readonly number[]): number => a.reduce((x, y) => x + y, 0) / a.length

forNewestJdk((jdk) => {
  const CYCLES = FULL ? 250 : 12
  it(`${CYCLES} sessions on one JVM count correctly and leak nothing`, {
    timeout: 600_000,
  }, async () => {
    const roots = ['task', 'split', 'descend', 'outer', 'even', 'mix'].map((m) => `fix.KnownTree.${m}`)
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '2', '10'])
    await java.line(/ready/)
    await ask(java, 'expect', /^end/)
    const tree = parseExpectation(java.stdout())

    const woken: boolean[] = []
    const detachMs: number[] = []
    const settled = { descriptors: [''], threads: [''], tasks: 0 }
    for (let i = 0; i < CYCLES; i++) {
      const root = roots[i % roots.length]!
      const scheme = i % 2 === 0 ? 'a' : 'b'
      const door = await attachDoor(java.pid)
      woken.push(door.woken)
      const session = await Session.start(door, sessionOptions({ root: [root], scheme }))
      await ask(java, 'run', /^done/)
      detachMs.push((await session.detach())!.ms)
      const profile = JSON.parse([...jsonPieces(await session.profile())].join('')) as JsonProfile
      await session.close()
      expect(lines(callsByPath(profile.merged)), `session ${i}, root ${root}, scheme ${scheme}`).toEqual(
        lines(under(root, tree)),
      )
      expect(profile.instrumentation.gaps + profile.instrumentation.healed).toBe(0)
      await attachConnectionsClosed(java.pid)
      const now = {
        descriptors: descriptors(java.pid),
        threads: await threadNames(java.pid),
        tasks: threadCount(java.pid),
      }
      if (i === 1) Object.assign(settled, now)
      if (i > 1) expect(now.descriptors).toEqual(settled.descriptors)
      if (i > 1) expect(now.threads).toEqual(settled.threads)
      // The JVM starts and ends compiler and collector threads at any time, within its own limits.
      if (i > 1) expect(now.tasks).toBeLessThan(settled.tasks + 8)
    }
    expect(woken).toEqual([false, ...new Array(CYCLES - 1).fill(true)])
    const warnings = java.stderr().match(/A Java agent has been loaded dynamically/g) ?? []
    expect(warnings).toHaveLength(jdk.version >= 21 ? 1 : 0)
    expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
    console.info(
      `JDK ${jdk.version}: detach ${mean(detachMs).toFixed(1)} ms on average, at most ${Math.max(...detachMs).toFixed(1)}`,
    )
  })

  const TIMES = FULL ? 1000 : 25
  describe(`a class of 200 methods, instrumented and restored ${TIMES} times`, () => {
    // 1000 repetitions take 50 s on two idle cores.
    it('a class restored many times behaves as before and uses no more memory than after the second restoration', {
      timeout: 900_000,
    }, async () => {
      const classes = await compileBig(jdk)
      const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Big200'])
      const checksum = await ask(java, 'check', /^checksum/)
      const before = await liveCode(jvm, 'Lfix/Big200;')

      const file = parseClassFile(readFileSync(join(classes, 'fix', 'Big200.class')))
      const methods = file.methods.filter((m) => m.name !== 'main' && m.code !== undefined)
      let ours: Remains | undefined
      let restoredMs = 0
      const begun = performance.now()
      for (let i = 1; i <= TIMES; i++) {
        const door = await attachDoor(java.pid)
        const agent = new Agent(door.link)
        const { classes: loaded } = await agent.loadedClasses()
        const classId = loaded.find((c) => c.name === 'fix/Big200')!.id
        const tasks = methods.map(
          (m, n): Task => ({
            id: n + 1,
            classId,
            className: 'fix/Big200',
            name: m.name,
            descriptor: m.descriptor,
            probe: m.name === 'all' ? 'root' : 'method',
          }),
        )
        const { refusals } = await new Instrumenter(agent).install(
          tasks,
          tasks.map((t) => t.id),
        )
        expect(refusals).toEqual([])
        if (i % 5 === 0) expect(await ask(java, 'check', /^checksum/)).toBe(checksum)
        // Checks that probes are installed. Otherwise the comparison with the original code would prove nothing.
        if (i === TIMES) expect(probed(await liveCode(jvm, 'Lfix/Big200;'))).toHaveLength(methods.length)
        const { restoredClasses, refusedClasses, ms } = await agent.detach()
        expect([restoredClasses, refusedClasses]).toEqual([1, 0])
        restoredMs += ms
        agent.close()
        door.leave()
        if (i === 2) ours = await remains(java.pid)
      }
      const seconds = (performance.now() - begun) / 1000
      expect(more(await remains(java.pid), ours!)).toEqual([])
      expect(await ask(java, 'check', /^checksum/)).toBe(checksum)
      expect(methods.length).toBeGreaterThan(200)
      expect(before.size).toBeGreaterThanOrEqual(methods.length)
      expect(await liveCode(jvm, 'Lfix/Big200;')).toEqual(before)
      await jvm.dispose()
      console.info(
        `JDK ${jdk.version}: ${methods.length} methods ${TIMES} times in ${seconds.toFixed(1)} s, ${(restoredMs / TIMES).toFixed(1)} ms to restore`,
      )
    })
  })
})

interface Remains {
  descriptors: string[]
  threads: string[]
  /** Live objects per class of jfluid. `classes`: number of loaded classes per class name. */
  objects: [string, number][]
  classes: [string, number][]
}

/**
 * Returns the remains in `now` that are missing or less frequent in `before`. Fewer remains are accepted, because the JVM collects garbage
 * at any time.
 */
function more(now: Remains, before: Remains): string[] {
  const many = (names: readonly string[]) =>
    [...new Set(names)].map((name): [string, number] => [name, names.filter((it) => it === name).length])
  const grown = (after: readonly [string, number][], earlier: readonly [string, number][]) => {
    const known = new Map(earlier)
    return after.filter(([name, count]) => count > (known.get(name) ?? 0)).map((it) => it.join(': '))
  }
  return [
    ...grown(many(now.descriptors), many(before.descriptors)),
    ...grown(many(now.threads), many(before.threads)),
    ...grown(now.objects, before.objects),
    ...grown(now.classes, before.classes),
  ]
}

/** Returns the remains between two sessions, after the agent thread of the last session has ended. */
async function remains(pid: number): Promise<Remains> {
  let threads: string[]
  do threads = await threadNames(pid)
  while (threads.some((name) => /jfluid/.test(name)))
  // The histogram is taken after a full collection, so the list contains no unreachable classes.
  const objects = [...(await liveObjects(pid, /jfluid/i))].sort()
  const classes = new Map<string, number>()
  for (const [line] of (await jcmd(pid, 'VM.class_hierarchy')).matchAll(/^.*jfluid.*$/gim)) {
    const name = line
      .replace(/^[|\s-]*/, '')
      .replace(/\/(?:null|0x[0-9a-f]+)$/, '')
      .replace(/(\$\$Lambda).*/, '$1')
    classes.set(name, (classes.get(name) ?? 0) + 1)
  }
  await attachConnectionsClosed(pid)
  let open: string[]
  do {
    open = descriptors(pid)
    await sleep(50)
  } while (!isDeepStrictEqual(descriptors(pid), open))
  return { descriptors: open, threads, objects, classes: [...classes].sort() }
}
