// The question of a JVM whether it is profiled, asked by hand.

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AskingJvm, askingDoor } from '../../../src/session/doors/asking-door.ts'
import { AnsweredTooLate } from '../../../src/session/doors/door.ts'
import { LinkLost, TargetRanOut } from '../../../src/wire/link.ts'

/** Upper bound of process ids on Linux (PID_MAX_LIMIT in include/linux/threads.h). No process has this id. */
const NO_PROCESS = 4_194_304

/** Asks for a JVM with this process id. */
async function ask(pid: number): Promise<{ jvm: AskingJvm; agent: Socket }> {
  let asked = (_: AskingJvm): void => {}
  const jvm = new Promise<AskingJvm>((resolve) => {
    asked = resolve
  })
  const door = await askingDoor({ asked, failed: () => {} })
  onTestFinished(() => door.leave())
  const dir = /;dir=([^;]+)/.exec(door.option)![1]!
  const agent = connect(join(dir, 'link'))
  agent.write(`${readFileSync(join(dir, 'token'), 'utf8')}${pid}\nfix.Main 1 2\n`)
  return { jvm: await jvm, agent }
}

/** Connects to the session that the launch line names. */
async function connected(agent: Socket): Promise<void> {
  const line = await new Promise<Buffer>((resolve) => agent.once('data', resolve))
  const [, dir, token] = /;dir=([^;]+);.*;token=(\w+)\n$/.exec(line.toString())!
  const link = connect(join(dir!, 'link'))
  onTestFinished(() => void link.destroy())
  await new Promise<void>((resolve) => link.write(token!, () => resolve()))
}

describe('a JVM asks whether it is profiled', () => {
  it('a session begins if the agent closes the question without a reason', async () => {
    const { jvm, agent } = await ask(process.pid)
    expect([jvm.pid, jvm.mainClass]).toEqual([process.pid, 'fix.Main'])
    const opening = jvm.open()
    await connected(agent)
    agent.end()
    const door = await opening
    expect(door.pid).toBe(process.pid)
    door.link.close()
    door.leave()
  })

  it('a reason that arrives after the agent has connected is reported', async () => {
    const { jvm, agent } = await ask(process.pid)
    const opening = jvm.open()
    await connected(agent)
    agent.end('java.lang.OutOfMemoryError: unable to create native thread')
    await expect(opening).rejects.toThrow(TargetRanOut)
  })

  it('an answer that is too late is reported as such, also if the reason has arrived before the answer', async () => {
    const late = await ask(process.pid)
    const opening = late.jvm.open()
    late.agent.end('the client did not answer the question in time')
    await expect(opening).rejects.toThrow(AnsweredTooLate)

    const early = await ask(process.pid)
    await new Promise<void>((resolve) =>
      early.agent.end('the client did not answer the question in time', resolve),
    )
    await new Promise(setImmediate)
    await expect(early.jvm.open()).rejects.toThrow(AnsweredTooLate)
  })

  it('a JVM that has ended is reported as ended, and a JVM that runs is not', async () => {
    const [ended, running] = await Promise.all([NO_PROCESS, process.pid].map(ask))
    ended!.agent.destroy()
    running!.agent.destroy()
    await Promise.all([
      expect(ended!.jvm.open()).rejects.toThrow(LinkLost),
      expect(running!.jvm.open()).rejects.toThrow(/did not connect/),
    ])
  })
})
