// Connecting and disconnecting of a JVM and its debugger: both directions, start and end, several debuggers in sequence.

import { connect as connectSocket } from 'node:net'
import { expect, it } from 'vitest'
import {
  type ClassId,
  granted,
  JdwpLost,
  JdwpPort,
  JdwpSilent,
  JdwpTarget,
  NoDebuggerPort,
  type Result,
} from '../../src/jdwp-client/index.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { SERVER, startDebuggee } from './debuggee.ts'
import { lookUp, standInCall } from './known.ts'

async function the<T>(asked: Promise<Result<T>>): Promise<T> {
  return granted(await asked, 'what a test asks')
}

forEachJdk((jdk) => {
  it('a JVM that connects to the debugger starts suspended, and the debugger receives its events until the JVM ends', async () => {
    await using port = await JdwpPort.open()
    // Another client connects first. It does not speak JDWP, and the port continues to wait for the JVM.
    const stranger = connectSocket(port.port, port.host)
    stranger.on('error', () => {}).write('GET / HTTP/1.0\r\n\r\n')
    const program = await startDebuggee(
      jdk,
      `-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=${port.address}`,
    )
    const jvm = await JdwpTarget.accept(port)
    const started = await jvm.events.next('VM_START')
    expect(started?.event.request).toBe(0)
    expect(started?.set.suspendPolicy).toBe('ALL')
    expect(await the(jvm.threadReference.name(started!.event.thread))).toBe('main')
    expect(await the(jvm.virtualMachine.classesBySignature('Ldbg/Debuggee;'))).toEqual([])
    expect(program.java.stdout()).toBe('')
    await the(jvm.resume(started!.set))
    await program.java.line(/^ready/)

    program.java.send('quit')
    expect((await jvm.events.next('VM_DEATH'))?.set).toEqual({
      ...{ suspendPolicy: 'NONE', events: [{ kind: 'VM_DEATH', request: 0 }] },
    })
    await jvm.connection.closed
    await expect(jvm.virtualMachine.version()).rejects.toThrow(JdwpLost)
    await expect(jvm.events.next('VM_DEATH')).rejects.toThrow(JdwpLost)
    await jvm.dispose() // has no effect
    expect(await program.java.exit).toEqual({ code: 0, signal: null })
  })

  it('a debugger that disconnects leaves all threads running and the port open', async () => {
    const program = await startDebuggee(jdk)
    const { java } = program
    await java.line(/^ready/)
    const leave: [how: string, (jvm: JdwpTarget) => Promise<unknown>][] = [
      ['disposes', (jvm) => jvm.dispose()],
      ['hangs up', (jvm) => jvm.connection.close()],
    ]
    for (const [nth, [how, go]] of leave.entries()) {
      const jvm = await JdwpTarget.connect(await program.port(nth + 1))
      const known = await lookUp(jvm)
      const stand = await standInCall(jvm, known, program)
      await the(jvm.eventRequest.set('METHOD_ENTRY', 'ALL')) // the first call suspends all threads
      await the(jvm.virtualMachine.suspend())
      await the(jvm.virtualMachine.suspend())
      const worker = await known.value('worker')
      if (worker.tag !== 'THREAD' || worker.id === null) throw new Error(worker.tag)
      expect(await the(jvm.threadReference.suspendCount(worker.id)), how).toBeGreaterThanOrEqual(2)
      expect(await the(jvm.threadReference.suspendCount(stand.thread)), how).toBeGreaterThanOrEqual(3)
      await go(jvm)
      expect(await stand.answer, how).toBe('returned 44')
      const ticks = async () => Number((await program.say('ticks')).split(' ')[1])
      const before = await ticks()
      while ((await ticks()) === before); // ends when the other thread has run, or by the test's timeout
    }
    // The third debugger finds the JVM as if no other had been connected.
    const jvm = await JdwpTarget.connect(await program.port(3))
    const all = await the(jvm.virtualMachine.allThreads())
    for (const thread of all) expect((await the(jvm.threadReference.status(thread))).suspended).toBe(false)
    expect(jvm.events.held).toBe(0)
    await expect(JdwpTarget.connect(await program.port(3), { handshakeMs: 200 })).rejects.toThrow(
      NoDebuggerPort,
    )
    await jvm.virtualMachine.exit(7)
    expect((await java.exit).code).toBe(7)
    expect(java.stderr()).toBe('')
  })
})

forEachJdk((jdk) => {
  it('if an invocation times out in the debugger, all threads continue to run, even after the invoked method has returned', async () => {
    const program = await startDebuggee(jdk)
    await program.java.line(/^ready/)
    const jvm = await JdwpTarget.connect(await program.port())
    const stand = await standInCall(jvm, await lookUp(jvm), program)
    const [thread] = await the(jvm.virtualMachine.classesBySignature('Ljava/lang/Thread;'))
    const methods = await the(jvm.referenceType.methods(thread!.id))
    const method = methods.find((it) => `${it.name}${it.descriptor}` === 'sleep(J)V')!.id
    const sleep = { thread: stand.thread, method, arguments: [{ tag: 'LONG', value: 500n }] } as const
    const sleeping = jvm.classType.invokeMethod(thread!.id as ClassId, sleep, { timeoutMs: 20 })
    await expect(sleeping).rejects.toThrow(JdwpSilent)
    await jvm.connection.closed
    expect(await stand.answer).toBe('returned 44') // its thread has slept and continued
    const ticks = async () => Number((await program.say('ticks')).split(' ')[1])
    const before = await ticks()
    while ((await ticks()) === before);
    await program.java.kill()
  })

  it('the JVM closes the connection when the debugger sends Dispose', async () => {
    const program = await startDebuggee(jdk)
    await program.java.line(/^ready/)
    const jvm = await JdwpTarget.connect(await program.port())
    await jvm.dispose()
    expect(jvm.connection.lost?.message).toMatch(/the JVM closed it$/)
    await program.java.kill()
  })

  it('a JVM that a debugger ends runs no shutdown hooks', async () => {
    const classpath = await compileFixture(jdk, 'Mortal')
    const java = startJava(jdk, [SERVER, '-cp', classpath, 'fix.Mortal', 'hook'])
    await java.line(/^ready/)
    const listening = /\d+$/.exec(await java.line(/^Listening for transport/))
    const jvm = await JdwpTarget.connect(Number(listening![0]))
    await jvm.virtualMachine.exit(7)
    expect((await java.exit).code).toBe(7)
    expect(java.stdout()).not.toContain('hook begins')
  })
})
