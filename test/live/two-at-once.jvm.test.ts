// Clients that attach at the same moment: one is accepted, and the others are refused. All run in one process, so that their steps are as
// close together as possible.

import { expect, it } from 'vitest'
import { AlreadyAttached, attachDoor, type OpenDoor } from '../../src/session/doors/door.ts'
import { Agent } from '../../src/wire/agent.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { filesOf, threadNames, until } from './remains.ts'

const ROUNDS = FULL ? 30 : 3
const FIRSTS = FULL ? 30 : 1
const CLIENTS = 4

forEachJdk((jdk) => {
  async function start(): Promise<JavaProcess> {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1'])
    await java.line(/ready/)
    return java
  }

  async function leave(java: JavaProcess, door: OpenDoor): Promise<void> {
    const agent = new Agent(door.link)
    await agent.hello()
    await agent.detach()
    agent.close()
    door.leave()
    await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
  }

  /** @returns how the accepted client has reached the agent */
  async function together(java: JavaProcess): Promise<'woken' | 'loaded'> {
    const all = await Promise.allSettled(Array.from({ length: CLIENTS }, () => attachDoor(java.pid)))
    const refused = all.flatMap((it) => (it.status === 'rejected' ? [it.reason] : []))
    expect(refused.filter((it) => !(it instanceof AlreadyAttached))).toEqual([])
    const doors = all.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []))
    expect(doors.length).toBe(1)
    await leave(java, doors[0]!)
    return doors[0]!.woken ? 'woken' : 'loaded'
  }

  it(`of ${CLIENTS} clients that attach at once to a JVM with an idle agent, exactly one is accepted (${ROUNDS} rounds)`, {
    timeout: 300_000,
  }, async () => {
    const java = await start()
    await leave(java, await attachDoor(java.pid))
    const said = java.stderr()
    for (let round = 0; round < ROUNDS; round++) expect(await together(java)).toBe('woken')
    // Newer JVMs print a warning when an agent is loaded again.
    expect(java.stderr()).toBe(said)
    expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
  })

  it(`of ${CLIENTS} clients that attach at once to a JVM without an agent, exactly one is accepted (${FIRSTS} rounds)`, {
    timeout: 300_000,
  }, async () => {
    for (let round = 0; round < FIRSTS; round++) {
      const java = await start()
      expect(await together(java)).toBe('loaded')
      expect(await together(java)).toBe('woken')
      expect(filesOf(java.pid, process.pid)).toEqual([`/tmp/.java_pid${java.pid}`])
      expect(java.stdout()).not.toContain('thread dump')
      await java.kill()
    }
  })
})
