// Every kind of event of real JVMs, and the threads that each event suspends.

import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type EventKind,
  granted,
  JdwpTarget,
  type Modifier,
  type Result,
  type SuspendPolicy,
  type Taken,
  type ThreadId,
} from '../../src/jdwp-client/index.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type Debuggee, startDebuggee } from './debuggee.ts'
import { type Known, lookUp } from './known.ts'

async function the<T>(asked: Promise<Result<T>>): Promise<T> {
  return granted(await asked, 'what a test asks')
}

forEachJdk((jdk) => {
  let program: Debuggee
  let jvm: JdwpTarget
  let known: Known
  let main: ThreadId

  beforeAll(async () => {
    program = await startDebuggee(jdk)
    await program.java.line(/^ready/)
    jvm = await JdwpTarget.connect(await program.port())
    known = await lookUp(jvm)
    const value = await known.value('thread')
    if (value.tag !== 'THREAD' || value.id === null) throw new Error(value.tag)
    main = value.id
  })
  afterAll(async () => {
    await jvm?.dispose()
    await program?.java.kill()
  })

  /** Sends a command to the program and returns the event that it causes. Then removes the request and resumes all threads. */
  async function comesOf<K extends EventKind>(
    word: string,
    kind: K,
    modifiers: readonly Modifier[],
    policy: SuspendPolicy = 'ALL',
    look: (taken: Taken<K>) => Promise<void> = async () => {},
  ): Promise<Taken<K>> {
    const request = await the(
      jvm.eventRequest.set(kind, policy, [...modifiers, { modifier: 'Count', count: 1 }]),
    )
    const answer = program.say(word)
    const taken = await jvm.events.next(kind, { request })
    if (taken === null) throw new Error(`no ${kind}`)
    expect(taken.set.suspendPolicy).toBe(policy)
    await look(taken)
    await the(jvm.eventRequest.clear(kind, request))
    await the(jvm.resume(taken.set))
    await answer
    return taken
  }

  const inProgram = (): Modifier => ({ modifier: 'ClassOnly', type: known.program })

  it('METHOD_ENTRY and METHOD_EXIT events arrive, with return values', async () => {
    const call = known.method('call')
    const inMain: Modifier[] = [inProgram(), { modifier: 'ThreadOnly', thread: main }]
    const entered = await comesOf('call', 'METHOD_ENTRY', inMain)
    expect(entered.event).toMatchObject({ thread: main, location: { type: known.program, bci: 0 } })
    const left = await comesOf('call', 'METHOD_EXIT', inMain)
    expect(left.event.location).toMatchObject({ kind: 'CLASS', type: known.program, method: call })
    const returned = await comesOf('call', 'METHOD_EXIT_WITH_RETURN_VALUE', inMain)
    expect(returned.event).toMatchObject({ location: { method: call }, value: { tag: 'INT', value: 44 } })
  })

  it('BREAKPOINT and SINGLE_STEP events arrive, line by line', async () => {
    const [first, second, third] = await Promise.all([0, 1, 2].map((nth) => known.line('call', nth)))
    const step = async (depth: 'OVER' | 'OUT') => {
      const request = await the(
        jvm.eventRequest.set('SINGLE_STEP', 'EVENT_THREAD', [
          { modifier: 'Step', thread: main, size: 'LINE', depth },
        ]),
      )
      await the(jvm.threadReference.resume(main))
      const taken = await jvm.events.next('SINGLE_STEP', { request })
      await the(jvm.eventRequest.clear('SINGLE_STEP', request))
      return taken!.event.location
    }
    await comesOf(
      'call',
      'BREAKPOINT',
      [{ modifier: 'LocationOnly', location: first!.location }],
      'EVENT_THREAD',
      async ({ event }) => {
        expect(event.location).toEqual(first!.location)
        expect((await the(jvm.threadReference.status(main))).suspended).toBe(true)
        const worker = (await known.value('worker')) as { id: ThreadId }
        expect((await the(jvm.threadReference.status(worker.id))).suspended).toBe(false)
        expect(await step('OVER')).toEqual(second!.location)
        expect(await step('OVER')).toEqual(third!.location)
        expect((await step('OUT')).method).toBe(known.method('done'))
      },
    )
    // No request is left, so the program is not suspended.
    const request = await the(
      jvm.eventRequest.set('BREAKPOINT', 'ALL', [{ modifier: 'LocationOnly', location: first!.location }]),
    )
    await the(jvm.eventRequest.clearAllBreakpoints())
    await program.say('call')
    expect(await jvm.events.next('BREAKPOINT', { request, timeoutMs: 0 })).toBe(null)
  })

  it('an EXCEPTION event contains the location of the handler', async () => {
    const [type] = await the(jvm.virtualMachine.classesBySignature('Ljava/lang/RuntimeException;'))
    const { event } = await comesOf('throw', 'EXCEPTION', [
      { modifier: 'ExceptionOnly', type: type!.id, caught: true, uncaught: true },
      inProgram(),
    ])
    expect(event.location.method).toBe(known.method('fail'))
    expect(event.catchLocation?.method).toBe(known.method('done'))
    const thrown = await the(jvm.objectReference.referenceType(event.exception.id!))
    expect(await the(jvm.referenceType.signature(thrown.id))).toBe('Ljava/lang/IllegalStateException;')
  })

  it('THREAD_START and THREAD_DEATH events arrive', async () => {
    const seen: string[] = []
    const name = async ({ event }: { event: { thread: ThreadId } }) => {
      seen.push(await the(jvm.threadReference.name(event.thread)))
    }
    await comesOf('thread', 'THREAD_START', [], 'EVENT_THREAD', name)
    await comesOf('thread', 'THREAD_DEATH', [], 'EVENT_THREAD', name)
    expect(seen).toEqual(['brief', 'brief'])
    const only = await jvm.eventRequest.set('THREAD_START', 'NONE', [{ modifier: 'PlatformThreadsOnly' }])
    expect(only.ok).toBe(jdk.version >= 19)
    if (only.ok) await the(jvm.eventRequest.clear('THREAD_START', only.value))
  })

  it('FIELD_ACCESS and FIELD_MODIFICATION events arrive', async () => {
    const field = known.field('watched')
    const only: Modifier = { modifier: 'FieldOnly', type: known.program, field }
    const read = await comesOf('field', 'FIELD_ACCESS', [only])
    expect(read.event).toMatchObject({ kindOfType: 'CLASS', type: known.program, field, object: null })
    const before = await known.value('watched')
    const written = await comesOf('field', 'FIELD_MODIFICATION', [only], 'ALL', async () => {
      expect(await known.value('watched')).toEqual(before) // the event is sent before the change
    })
    expect(await known.value('watched')).toEqual(written.event.valueToBe)
  })

  it('MONITOR_CONTENDED_ENTER, MONITOR_CONTENDED_ENTERED, MONITOR_WAIT and MONITOR_WAITED events arrive', async () => {
    const lock = await known.value('LOCK')
    const wanted = await comesOf('contend', 'MONITOR_CONTENDED_ENTER', [])
    expect(wanted.event.object).toEqual(lock)
    expect(wanted.event.thread).not.toBe(main)
    expect((await comesOf('contend', 'MONITOR_CONTENDED_ENTERED', [])).event.object).toEqual(lock)
    const waits = await comesOf('wait', 'MONITOR_WAIT', [{ modifier: 'ThreadOnly', thread: main }])
    expect(waits.event).toMatchObject({ object: lock, timeout: 5n })
    const waited = await comesOf('wait', 'MONITOR_WAITED', [{ modifier: 'ThreadOnly', thread: main }])
    expect(waited.event).toMatchObject({ object: lock, timedOut: true })
  })

  it('events that the JVM holds arrive after the events are released', async () => {
    await the(jvm.virtualMachine.holdEvents())
    const { location } = await known.line('call', 0)
    const request = await the(
      jvm.eventRequest.set('BREAKPOINT', 'NONE', [{ modifier: 'LocationOnly', location }]),
    )
    await program.say('call') // the method has run
    expect(await jvm.events.next('BREAKPOINT', { request, timeoutMs: 50 })).toBe(null)
    await the(jvm.virtualMachine.releaseEvents())
    expect((await jvm.events.next('BREAKPOINT', { request }))?.event.location).toEqual(location)
    await the(jvm.eventRequest.clear('BREAKPOINT', request))
  })

  it('CLASS_PREPARE and CLASS_UNLOAD events arrive for a class name pattern', async () => {
    const prepared = await comesOf('load', 'CLASS_PREPARE', [
      { modifier: 'ClassMatch', pattern: 'dbg.*' },
      { modifier: 'ClassExclude', pattern: '*.Early' },
      { modifier: 'SourceNameMatch', pattern: '*.java' },
    ])
    expect(prepared.event).toMatchObject({ signature: 'Ldbg/Late;', kindOfType: 'CLASS', thread: main })
    const late = await the(jvm.virtualMachine.classesBySignature('Ldbg/Late;'))
    expect(late.map(({ id }) => id)).toEqual([prepared.event.type])

    // The JDWP agent reports an unloaded class with its next event of any kind: here the call after the garbage collection.
    const entries = await the(jvm.eventRequest.set('METHOD_ENTRY', 'NONE', [inProgram()]))
    const unloaded = await comesOf(
      'unload',
      'CLASS_UNLOAD',
      [{ modifier: 'ClassMatch', pattern: 'dbg.Late' }],
      'NONE',
    )
    expect(unloaded.event.signature).toBe('Ldbg/Late;')
    await the(jvm.eventRequest.clear('METHOD_ENTRY', entries))
  })

  it('if a breakpoint is set where the last METHOD_ENTRY event occurred, the first hit of the breakpoint is not reported', async () => {
    const { location } = await known.line('call', 0)
    const entries = await the(jvm.eventRequest.set('METHOD_ENTRY', 'NONE', [inProgram()]))
    await program.say('call')
    const isCall = (event: { location: { method: string } }) => event.location.method === location.method
    expect(await jvm.events.next('METHOD_ENTRY', { request: entries, where: isCall })).not.toBe(null)
    await the(jvm.eventRequest.clear('METHOD_ENTRY', entries))
    const request = await the(
      jvm.eventRequest.set('BREAKPOINT', 'NONE', [{ modifier: 'LocationOnly', location }]),
    )
    for (let calls = 0; calls < 3; calls++) await program.say('call')
    await the(jvm.eventRequest.clear('BREAKPOINT', request))
    for (let hits = 0; hits < 2; hits++)
      expect(await jvm.events.next('BREAKPOINT', { request })).not.toBe(null)
    expect(await jvm.events.next('BREAKPOINT', { request, timeoutMs: 50 })).toBe(null)
  })

  it('events that no waiter expects are delivered to a listener', async () => {
    const request = await the(jvm.eventRequest.set('METHOD_ENTRY', 'NONE', [inProgram()]))
    const called = new Promise<readonly string[]>((resolve) => {
      const seen: string[] = []
      jvm.events.listen(({ events }) => {
        for (const event of events) {
          seen.push(event.kind)
          if (event.kind === 'METHOD_ENTRY' && event.location.method === known.method('call')) resolve(seen)
        }
      })
    })
    await program.say('call')
    expect((await called).length).toBeGreaterThanOrEqual(2) // one of `done` and one of `call`
    await the(jvm.eventRequest.clear('METHOD_ENTRY', request))
  })

  it('the JVM accepts event requests with each modifier that the other tests do not use, and refuses invalid requests', async () => {
    const object = await known.value('object')
    if (object.tag !== 'OBJECT') throw new Error(object.tag)
    const instance: Modifier = { modifier: 'InstanceOnly', object: object.id }
    await the(
      jvm.eventRequest.clear(
        'METHOD_EXIT',
        await the(jvm.eventRequest.set('METHOD_EXIT', 'NONE', [instance])),
      ),
    )
    // HotSpot accepts the modifier, but it has no effect.
    const taken = await the(
      jvm.eventRequest.set('METHOD_ENTRY', 'NONE', [{ modifier: 'Conditional', expression: 1 }]),
    )
    await the(jvm.eventRequest.clear('METHOD_ENTRY', taken))
    expect(await jvm.eventRequest.set('BREAKPOINT', 'NONE', [{ modifier: 'Count', count: 0 }])).toMatchObject(
      { ok: false },
    )
  })
})
