// The JVMs of a command of `jfluid run` that cannot be recorded.

import { describe, expect, it } from 'vitest'
import { NoJvmRanRoot, StartedJvms } from '../../src/commands/started-jvms.ts'
import type { AskingJvm } from '../../src/session/doors/asking-door.ts'
import { AnsweredTooLate, type OpenDoor } from '../../src/session/doors/door.ts'
import { TooManyMethods } from '../../src/session/limits.ts'
import type { SessionRequest } from '../../src/session/session-options.ts'
import { type Link, TargetRanOut } from '../../src/wire/link.ts'

const OPTIONS = { untilExit: true } as unknown as SessionRequest

/** A JVM whose agent has connected, and fails to answer the first request. */
function jvmWith(pid: number, error: Error): AskingJvm {
  const link = {
    request: () => Promise.reject(error),
    closed: new Promise<string>(() => {}),
    listen() {},
    send() {},
    close() {},
  }
  const door = { link: link as unknown as Link, pid: null, leave() {}, elsewhere: { host: '', from: '' } }
  return { pid, mainClass: 'Launcher', open: async () => door as unknown as OpenDoor, decline() {} }
}

function started(): { jvms: StartedJvms; told: string[] } {
  const told: string[] = []
  return { jvms: new StartedJvms({ record: 'p.jfluid' }, OPTIONS, (line) => told.push(line)), told }
}

describe('a JVM of a command that cannot be recorded', () => {
  it('an error of the first JVM does not end the command, and is reported if no other JVM was recorded', async () => {
    const { jvms, told } = started()
    const error = new TargetRanOut('memory', 'no memory for an event buffer')
    jvms.take(jvmWith(4711, error))
    await expect.poll(() => told).toHaveLength(1)
    expect(told[0]).toBe(`JVM 4711 (Launcher): ${error.message}; this JVM continues without being recorded`)
    expect(await jvms.begun(Promise.resolve(0))).toBeNull()
    expect(jvms.nothing('mvn test', 0)).toBe(error)
  })

  it('an error of the command line in the first JVM ends the command', async () => {
    const { jvms } = started()
    const error = TooManyMethods.sample()[0]!
    jvms.take(jvmWith(4711, error))
    await expect(jvms.begun(new Promise(() => {}))).rejects.toBe(error)
  })

  it('the error about a root that was not called names the JVMs that were not recorded', () => {
    const idle = { pid: 4711, mainClass: 'Launcher', near: [], hasRoot: false }
    const error = new AnsweredTooLate(4712)
    const others = [{ jvm: { pid: 4712, mainClass: 'Tests' }, reason: error.message, error }]
    const problem = new NoJvmRanRoot(['A.b'], [idle], others)
    expect(problem.message).toBe(
      'no call of A.b was recorded in the JVM of the command: JVM 4711 (Launcher); 1 JVM was not recorded: jfluid did not answer JVM 4712 within 10 s',
    )
    expect(problem.hint).toBe(error.hint)
  })
})
