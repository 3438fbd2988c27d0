// The command sets with real JVMs. Each reply is checked against known facts of a program (debuggee/).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type ArrayId,
  granted,
  JdwpTarget,
  type ObjectId,
  type Result,
  STATUS_INITIALIZED,
  STATUS_PREPARED,
  STATUS_VERIFIED,
  type StringId,
  type ThreadId,
  type TypeId,
} from '../../src/jdwp-client/index.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type Debuggee, debuggeeClasses, startDebuggee } from './debuggee.ts'
import { type Known, lookUp, standInCall } from './known.ts'

const SOURCE = readFileSync(join(import.meta.dirname, 'debuggee/dbg/Debuggee.java'), 'utf8').split('\n')
const lineOf = (text: string): number => SOURCE.findIndex((line) => line.includes(text)) + 1

/** Returns the value of a result. No command here is refused. */
async function the<T>(asked: Promise<Result<T>>): Promise<T> {
  return granted(await asked, 'what a test asks')
}

forEachJdk((jdk) => {
  let program: Debuggee
  let jvm: JdwpTarget
  let known: Known
  let stand: Awaited<ReturnType<typeof standInCall>>

  beforeAll(async () => {
    program = await startDebuggee(jdk)
    await program.java.line(/^ready/)
    jvm = await JdwpTarget.connect(await program.port())
    known = await lookUp(jvm)
    stand = await standInCall(jvm, known, program)
  })
  afterAll(async () => {
    await jvm?.dispose()
    await program?.java.kill()
  })

  describe('commands of VirtualMachine', () => {
    it('VirtualMachine reports version and capabilities', async () => {
      const version = await the(jvm.virtualMachine.version())
      expect(version).toMatchObject({ major: jdk.version, vmVersion: jdk.full })
      expect(version.vmName).toMatch(/64-Bit Server VM/)
      expect(jvm.idSizes).toEqual({ field: 8, method: 8, object: 8, referenceType: 8, frame: 8 })
      const can = await the(jvm.virtualMachine.capabilitiesNew())
      expect(can).toMatchObject({ canRedefineClasses: true, canAddMethod: false, canForceEarlyReturn: true })
      expect(Object.keys(can)).toHaveLength(21)
      expect(can).toMatchObject(await the(jvm.virtualMachine.capabilities()))
      expect(await the(jvm.virtualMachine.classPaths())).toMatchObject({
        ...{ baseDir: await debuggeeClasses(), classpath: ['.'] },
      })
      await the(jvm.virtualMachine.setDefaultStratum('Java'))
    })

    it('VirtualMachine lists classes, threads, groups and modules', async () => {
      const all = await the(jvm.virtualMachine.allClasses())
      const byName = new Map(all.map((type) => [type.signature, type]))
      expect(byName.get('Ldbg/Debuggee;')).toMatchObject({ kind: 'CLASS', id: known.program })
      expect(byName.get('Ldbg/Shape;')?.kind).toBe('INTERFACE')
      expect(byName.get('[I')?.kind).toBe('ARRAY')
      const generic = await the(jvm.virtualMachine.allClassesWithGeneric())
      expect(generic.find((type) => type.signature === 'Ljava/util/Collection;')?.genericSignature).toBe(
        '<E:Ljava/lang/Object;>Ljava/lang/Object;Ljava/lang/Iterable<TE;>;',
      )
      const threads = await the(jvm.virtualMachine.allThreads())
      const names = await Promise.all(threads.map((thread) => the(jvm.threadReference.name(thread))))
      expect(names).toEqual(expect.arrayContaining(['main', 'worker', 'Finalizer']))
      const groups = await the(jvm.virtualMachine.topLevelThreadGroups())
      expect(await the(jvm.threadGroupReference.name(groups[0]!))).toBe('system')
      const modules = await the(jvm.virtualMachine.allModules())
      const named = await Promise.all(modules.map((module) => the(jvm.moduleReference.name(module))))
      expect(named).toEqual(expect.arrayContaining(['java.base', 'jdk.jdwp.agent', '']))
    })

    it('VirtualMachine counts instances', async () => {
      // The only instances: `object`, and `keep` in main.
      expect(await the(jvm.virtualMachine.instanceCounts([known.program, known.small]))).toEqual([1, 1])
      const [found] = await the(jvm.referenceType.instances(known.program, 0))
      expect(found).toEqual(await known.value('object'))
      const referring = await the(jvm.objectReference.referringObjects((found as { id: ObjectId }).id, 0))
      expect(referring.map(({ tag }) => tag)).toEqual(['CLASS_OBJECT']) // the static field
    })
  })

  it('commands of ReferenceType describe a class', async () => {
    const { referenceType } = jvm
    expect(await the(referenceType.signature(known.program))).toBe('Ldbg/Debuggee;')
    expect(await the(referenceType.signatureWithGeneric(known.program))).toEqual({
      ...{ signature: 'Ldbg/Debuggee;', genericSignature: '' },
    })
    expect(await the(referenceType.modifiers(known.program))).toBe(0x21) // public super
    expect(await the(referenceType.sourceFile(known.program))).toBe('Debuggee.java')
    expect(await referenceType.sourceDebugExtension(known.program)).toEqual({
      ...{ ok: false, error: 'ABSENT_INFORMATION', code: 101 },
    })
    expect(await the(referenceType.status(known.program))).toBe(
      STATUS_VERIFIED | STATUS_PREPARED | STATUS_INITIALIZED,
    )
    expect(await the(referenceType.interfaces(known.program))).toEqual([known.shape])
    expect(await the(referenceType.classFileVersion(known.program))).toEqual({ major: 61, minor: 0 })
    const nested = await the(referenceType.nestedTypes(known.program))
    expect(await Promise.all(nested.map(({ id }) => the(referenceType.signature(id))))).toEqual([
      'Ldbg/Debuggee$Poison;',
    ])
    const pool = await the(referenceType.constantPool(known.program))
    expect(pool.count).toBeGreaterThan(100)
    expect(pool.bytes.includes('grüße')).toBe(true)

    const fields = await the(referenceType.fieldsWithGeneric(known.program))
    expect(fields.find(({ name }) => name === 'names')).toMatchObject({
      ...{ descriptor: 'Ljava/util/List;', genericSignature: 'Ljava/util/List<Ljava/lang/String;>;' },
    })
    const plain = fields.map(({ genericSignature: _, ...field }) => field)
    expect(await the(referenceType.fields(known.program))).toEqual(plain)
    const methods = await the(referenceType.methodsWithGeneric(known.program))
    expect(methods.find(({ name }) => name === 'foreign')).toMatchObject({
      ...{ descriptor: '()V', modifiers: 0x10a }, // private static native
    })
    expect(await the(referenceType.methods(known.program))).toEqual(
      methods.map(({ genericSignature: _, ...method }) => method),
    )

    const loader = await the(referenceType.classLoader(known.program))
    expect({ tag: 'CLASS_LOADER', id: loader }).toEqual(await known.value('loader'))
    expect(await the(referenceType.classLoader(known.ints))).toBe(null)
    const classObject = await the(referenceType.classObject(known.program))
    expect({ tag: 'CLASS_OBJECT', id: classObject }).toEqual(await known.value('type'))
    expect(await the(jvm.classObjectReference.reflectedType(classObject))).toEqual({
      ...{ kind: 'CLASS', id: known.program },
    })
    const module = await the(referenceType.module(known.program))
    expect(await the(jvm.moduleReference.name(module))).toBe('')
    expect(await the(jvm.moduleReference.classLoader(module))).toBe(loader)
    const visible = await the(jvm.classLoaderReference.visibleClasses(loader))
    expect(visible).toContainEqual({ kind: 'CLASS', id: known.program })
    expect((await the(jvm.classLoaderReference.visibleClasses(null))).length).toBeGreaterThan(200)
  })

  it('commands of Method describe a method', async () => {
    const { method } = jvm
    const [call, foreign, plus] = [known.method('call'), known.method('foreign'), known.method('plus')]
    const table = await the(method.lineTable(known.program, call))
    const first = lineOf('int twice = 2 * x')
    expect(table.lines[0]).toEqual({ bci: 0, line: first })
    expect(table.start).toBe(0)
    const code = await the(method.bytecodes(known.program, call))
    expect(table.end).toBe(code.length - 1)
    expect((await the(method.bytecodes(known.program, plus))).toString('hex')).toMatch(/^2ab4....1b60ac$/)
    expect(await the(method.bytecodes(known.program, foreign))).toHaveLength(0)
    expect(await method.lineTable(known.program, foreign)).toMatchObject({ error: 'NATIVE_METHOD' })
    const { argumentSlots, variables } = await the(method.variableTable(known.program, call))
    expect(argumentSlots).toBe(2)
    expect(variables.map(({ name, descriptor, slot }) => `${slot} ${name} ${descriptor}`).sort()).toEqual([
      ...['0 x I', '1 who Ljava/lang/String;', '2 twice I'],
    ])
    const generic = await the(method.variableTableWithGeneric(known.program, call))
    expect(generic.variables.every((it) => it.genericSignature === '')).toBe(true)
    expect(await the(method.isObsolete(known.program, call))).toBe(false)
  })

  describe('values on the wire', () => {
    it('values of every tag are read', async () => {
      const value = (name: string) => known.value(name)
      expect(await value('aByte')).toEqual({ tag: 'BYTE', value: -7 })
      expect(await value('aShort')).toEqual({ tag: 'SHORT', value: -300 })
      expect(await value('anInt')).toEqual({ tag: 'INT', value: 70_000 })
      expect(await value('aLong')).toEqual({ tag: 'LONG', value: 1n << 40n })
      expect(await value('aFloat')).toEqual({ tag: 'FLOAT', value: 1.5 })
      expect(await value('aDouble')).toEqual({ tag: 'DOUBLE', value: -2.25 })
      expect(await value('aChar')).toEqual({ tag: 'CHAR', value: 'ß' })
      expect(await value('aBoolean')).toEqual({ tag: 'BOOLEAN', value: true })
      expect(await value('nothing')).toEqual({ tag: 'OBJECT', id: null })
      expect(await value('object')).toMatchObject({ tag: 'OBJECT' })
      expect(await value('thread')).toEqual({ tag: 'THREAD', id: stand.thread })
      expect(await value('group')).toMatchObject({ tag: 'THREAD_GROUP' })
      expect(await value('loader')).toMatchObject({ tag: 'CLASS_LOADER' })
      expect(await value('type')).toMatchObject({ tag: 'CLASS_OBJECT' })
      expect(await value('ints')).toMatchObject({ tag: 'ARRAY' })
      const text = await value('text')
      if (text.tag !== 'STRING' || text.id === null) throw new Error(text.tag)
      expect(await the(jvm.stringReference.value(text.id))).toBe('grüße, 日本')
    })

    it('values are written and read back', async () => {
      const put = [
        ['aByte', { tag: 'BYTE', value: 127 }],
        ['aShort', { tag: 'SHORT', value: -1 }],
        ['anInt', { tag: 'INT', value: -(2 ** 31) }],
        ['aLong', { tag: 'LONG', value: -(2n ** 63n) }],
        ['aFloat', { tag: 'FLOAT', value: -0.5 }],
        ['aDouble', { tag: 'DOUBLE', value: 1e300 }],
        ['aChar', { tag: 'CHAR', value: '\ud83d' }],
        ['aBoolean', { tag: 'BOOLEAN', value: false }],
        ['nothing', { tag: 'THREAD', id: stand.thread }],
      ] as const
      await the(
        jvm.classType.setValues(
          known.program,
          put.map(([name, value]) => ({ field: known.field(name), value })),
        ),
      )
      for (const [name, value] of put) expect(await known.value(name), name).toEqual(value)
      await the(
        jvm.classType.setValues(known.program, [
          { field: known.field('nothing'), value: { tag: 'OBJECT', id: null } },
        ]),
      )
      expect(await known.value('nothing')).toEqual({ tag: 'OBJECT', id: null })
    })

    it('elements of arrays are read and written', async () => {
      const { arrayReference } = jvm
      const array = async (name: string): Promise<ArrayId> => {
        const value = await known.value(name)
        if (value.tag !== 'ARRAY' || value.id === null) throw new Error(value.tag)
        return value.id
      }
      const wanted = [
        ['bytes', { tag: 'BYTE', values: Int8Array.of(1, -1) }],
        ['shorts', { tag: 'SHORT', values: Int16Array.of(2, -2) }],
        ['ints', { tag: 'INT', values: Int32Array.of(3, -3, 70_000) }],
        ['longs', { tag: 'LONG', values: BigInt64Array.of(4n, -(1n << 40n)) }],
        ['floats', { tag: 'FLOAT', values: Float32Array.of(0.5, -0.5) }],
        ['doubles', { tag: 'DOUBLE', values: Float64Array.of(0.25, -0.25) }],
        ['chars', { tag: 'CHAR', values: 'aß\ud83d' }],
        ['booleans', { tag: 'BOOLEAN', values: [true, false] }],
      ] as const
      for (const [name, region] of wanted) {
        const id = await array(name)
        const length = await the(arrayReference.length(id))
        expect(length, name).toBe(region.values.length)
        expect(await the(arrayReference.getValues(id, 0, length)), name).toEqual(region)
        // Copied to the next index: the first element is now there twice.
        const head = await the(arrayReference.getValues(id, 0, length - 1))
        await the(arrayReference.setValues(id, 1, head))
        const [a, b] = [...(await the(arrayReference.getValues(id, 0, 2))).values]
        expect(b, name).toEqual(a)
        await the(arrayReference.setValues(id, 0, region))
        expect(await the(arrayReference.getValues(id, 0, length)), name).toEqual(region)
        expect(await arrayReference.getValues(id, 1, length)).toMatchObject({ error: 'INVALID_LENGTH' })
      }
      const objects = await the(arrayReference.getValues(await array('objects'), 0, 4))
      expect(objects.values).toEqual([
        ...[
          { tag: 'STRING', id: expect.anything() },
          { tag: 'OBJECT', id: null },
        ],
        ...[await known.value('bytes'), await known.value('type')],
      ])
      const made = await the(jvm.arrayType.newInstance(known.ints, 5))
      expect(await the(arrayReference.length(made))).toBe(5)
      expect(await the(jvm.objectReference.referenceType(made))).toEqual({ kind: 'ARRAY', id: known.ints })
    })
  })

  it('commands of ObjectReference describe an object', async () => {
    const { objectReference } = jvm
    const { id } = (await known.value('object')) as { id: ObjectId }
    const number = known.field('number')
    expect(await the(objectReference.referenceType(id))).toEqual({ kind: 'CLASS', id: known.program })
    expect(await the(objectReference.getValues(id, [number]))).toEqual([{ tag: 'INT', value: 5 }])
    await the(objectReference.setValues(id, [{ field: number, value: { tag: 'INT', value: 6 } }]))
    expect(await the(objectReference.getValues(id, [number]))).toEqual([{ tag: 'INT', value: 6 }])
    await the(objectReference.disableCollection(id))
    await the(objectReference.enableCollection(id))
    expect(await the(objectReference.isCollected(id))).toBe(false)

    const text = await the(jvm.virtualMachine.createString('mäde'))
    expect(await the(jvm.stringReference.value(text))).toBe('mäde')
    await the(jvm.virtualMachine.disposeObjects([{ object: text, count: 1 }]))
    expect(await jvm.stringReference.value(text)).toMatchObject({ error: 'INVALID_OBJECT' })
    expect(await jvm.stringReference.value(id as StringId)).toMatchObject({ error: 'INVALID_STRING' })
  })

  it('commands of ThreadReference and ThreadGroupReference describe threads and groups', async () => {
    const { threadReference, threadGroupReference } = jvm
    const main = stand.thread
    expect(await the(threadReference.name(main))).toBe('main')
    expect(await the(threadReference.status(main))).toEqual({ status: 'RUNNING', suspended: true })
    expect(await the(threadReference.suspendCount(main))).toBe(1)
    const group = await the(threadReference.threadGroup(main))
    expect(await the(threadGroupReference.name(group))).toBe('main')
    const { threads, groups } = await the(threadGroupReference.children(group))
    expect(threads).toContain(main)
    expect(groups.length).toBeLessThan(2) // 25 has InnocuousThreadGroup in system
    const parent = await the(threadGroupReference.parent(group))
    expect(await the(threadGroupReference.name(parent!))).toBe('system')
    expect(await the(threadGroupReference.parent(parent!))).toBe(null)

    const worker = await threadNamed('worker')
    expect(await threadReference.frames(worker)).toMatchObject({ error: 'THREAD_NOT_SUSPENDED' })
    await the(threadReference.suspend(worker))
    await the(threadReference.suspend(worker))
    expect(await the(threadReference.suspendCount(worker))).toBe(2)
    expect(await the(threadReference.frameCount(worker))).toBe(
      (await the(threadReference.frames(worker))).length,
    )
    await the(threadReference.resume(worker))
    await the(threadReference.resume(worker))
    expect((await the(threadReference.status(worker))).suspended).toBe(false)
    await the(threadReference.interrupt(worker))
    await program.java.line(/^interrupted$/)
    const isVirtual = await threadReference.isVirtual(main)
    if (jdk.version < 19) expect(isVirtual).toEqual({ ok: false, error: 'NOT_IMPLEMENTED', code: 99 })
    else expect(isVirtual).toEqual({ ok: true, value: false })
    expect(await threadReference.name(known.program as string as ThreadId)).toMatchObject({ ok: false })
  })

  it('commands of StackFrame read and write local variables', async () => {
    const { stackFrame } = jvm
    const frames = await the(jvm.threadReference.frames(stand.thread))
    expect(frames[0]).toEqual({ id: stand.frame.id, location: stand.location })
    expect(await the(jvm.threadReference.frames(stand.thread, 1, 1))).toEqual([frames[1]])
    const slots = [
      { slot: 0, tag: 'INT' },
      { slot: 1, tag: 'OBJECT' },
      { slot: 2, tag: 'INT' },
    ] as const
    const read = () => the(stackFrame.getValues(stand.thread, stand.frame.id, slots))
    const [x, who, twice] = await read()
    expect([x, twice]).toEqual([
      { tag: 'INT', value: 21 },
      { tag: 'INT', value: 42 },
    ])
    expect(who).toMatchObject({ tag: 'STRING' })
    expect(await the(stackFrame.thisObject(stand.thread, stand.frame.id))).toBe(null)
    await the(
      stackFrame.setValues(stand.thread, stand.frame.id, [{ slot: 2, value: { tag: 'INT', value: 50 } }]),
    )
    expect((await read())[2]).toEqual({ tag: 'INT', value: 50 })
    const wrong = await stackFrame.getValues(stand.thread, stand.frame.id, [{ slot: 99, tag: 'INT' }])
    expect(wrong).toMatchObject({ error: 'INVALID_SLOT' })
  })

  describe('invoking methods', () => {
    const int = (value: number) => ({ tag: 'INT', value }) as const

    it('static methods of classes and interfaces are invoked', async () => {
      const { thread } = stand
      const me = { tag: 'STRING', id: await the(jvm.virtualMachine.createString('four')) } as const
      const call = known.method('call')
      expect(
        await the(
          jvm.classType.invokeMethod(known.program, { thread, method: call, arguments: [int(3), me] }),
        ),
      ).toEqual({ value: int(10), exception: null }) // 2·3 + 4
      const single = await jvm.interfaceType.invokeMethod(
        known.shape,
        { thread, method: known.sides, arguments: [int(1)] },
        { singleThreaded: true },
      )
      expect(single).toEqual({ ok: true, value: { value: int(4), exception: null } })
      const refused = await jvm.classType.invokeMethod(known.program, {
        ...{ thread: await threadNamed('worker'), method: call, arguments: [int(3), me] },
      })
      expect(refused).toMatchObject({ ok: false, error: /^(INVALID_THREAD|THREAD_NOT_SUSPENDED)$/ })
    })

    it('instance methods (with and without virtual dispatch) and constructors are invoked', async () => {
      const { thread } = stand
      const made = await the(
        jvm.classType.newInstance(known.small, {
          ...{ thread, method: (await the(jvm.referenceType.methods(known.small)))[0]!.id },
          arguments: [int(7)],
        }),
      )
      expect(made.exception).toBe(null)
      const plus = { thread, method: known.method('plus'), arguments: [int(2)] }
      const { id } = made.object!
      expect((await the(jvm.objectReference.invokeMethod(id, known.program, plus))).value).toEqual(int(-1))
      const own = await jvm.objectReference.invokeMethod(id, known.program, plus, { nonvirtual: true })
      expect(granted(own, 'plus').value).toEqual(int(9)) // 7 + 2
    })

    it('the reply to an invocation contains the exception that the method threw', async () => {
      const { thread } = stand
      const message = { tag: 'STRING', id: await the(jvm.virtualMachine.createString('no')) } as const
      const failed = await the(
        jvm.classType.invokeMethod(known.program, {
          ...{ thread, method: known.method('fail'), arguments: [message] },
        }),
      )
      expect(failed.value).toEqual({ tag: 'OBJECT', id: null })
      const type = await the(jvm.objectReference.referenceType(failed.exception!.id))
      expect(await the(jvm.referenceType.signature(type.id))).toBe('Ljava/lang/IllegalStateException;')
      const created = await the(
        jvm.classType.newInstance(known.program, {
          ...{ thread, method: known.method('<init>'), arguments: [int(-1)] },
        }),
      )
      expect(created).toMatchObject({ object: null, exception: { tag: 'OBJECT' } })
    })
  })

  it('an invocation leaves all threads suspended until the JVM is resumed', async () => {
    const [{ thread: main }, worker] = [stand, await threadNamed('worker')]
    const suspended = async () => (await the(jvm.threadReference.status(worker))).suspended
    expect(await suspended()).toBe(true) // although the breakpoint suspended only `main`
    await the(jvm.threadReference.suspend(main)) // so that it stays suspended
    await the(jvm.virtualMachine.resume())
    expect(await suspended()).toBe(false)
    expect(await the(jvm.threadReference.suspendCount(main))).toBe(1)
  })

  it('commands about monitors show the owner, the depth and the waiting threads', async () => {
    // On the line after `synchronized (LOCK) {`.
    const { location } = await known.line('call', 2)
    const request = await the(
      jvm.eventRequest.set('BREAKPOINT', 'ALL', [{ modifier: 'LocationOnly', location }]),
    )
    await the(jvm.threadReference.resume(stand.thread))
    const hit = await jvm.events.next('BREAKPOINT', { request })
    const lock = (await known.value('LOCK')) as { tag: 'OBJECT'; id: ObjectId }
    expect(await the(jvm.threadReference.ownedMonitors(stand.thread))).toEqual([lock])
    expect(await the(jvm.threadReference.ownedMonitorsStackDepthInfo(stand.thread))).toEqual([
      { monitor: lock, depth: 0 },
    ])
    expect(await the(jvm.threadReference.currentContendedMonitor(stand.thread))).toBe(null)
    expect(await the(jvm.objectReference.monitorInfo(lock.id))).toEqual({
      ...{ owner: stand.thread, entryCount: 1, waiters: [] },
    })
    await the(jvm.eventRequest.clear('BREAKPOINT', request))
    expect(hit?.set.suspendPolicy).toBe('ALL')
    await the(jvm.resume(hit!.set))
    expect(await stand.answer).toBe('returned 52') // 50 was set, and "me" has a length of 2
  })

  it('frames can be popped, and methods can be made to return early', async () => {
    const again = await standInCall(jvm, known, program)
    await the(jvm.threadReference.forceEarlyReturn(again.thread, { tag: 'INT', value: 1234 }))
    await the(jvm.resume(again.set))
    expect(await again.answer).toBe('returned 1234')

    const once = await standInCall(jvm, known, program)
    const before = await the(jvm.threadReference.frameCount(once.thread))
    await the(jvm.stackFrame.popFrames(once.thread, once.frame.id))
    expect(await the(jvm.threadReference.frameCount(once.thread))).toBe(before - 1)
    await the(jvm.resume(once.set))
    expect(await once.answer).toBe('returned 44') // 2·21 + 2: the method was called again
  })

  it('a thread can be stopped by an exception', async () => {
    const poison = await known.value('poison')
    if (poison.tag !== 'OBJECT' || poison.id === null) throw new Error(poison.tag)
    await the(jvm.threadReference.stop(await threadNamed('worker'), poison.id))
    await program.java.line(/^stopped$/)
  })

  it('classes can be redefined, and the old methods are then obsolete', async () => {
    const file = readFileSync(join(await debuggeeClasses(), 'dbg/Debuggee.class'))
    // `return number + more` becomes `number - more`: aload_0 getfield # iload_1 iadd ireturn
    const code = await the(jvm.method.bytecodes(known.program, known.method('plus')))
    const at = file.indexOf(code)
    expect(at).toBeGreaterThan(0)
    file[at + 5] = 0x64
    const type: TypeId = known.program
    expect(await jvm.virtualMachine.redefineClasses([{ type, bytes: file.subarray(0, 40) }])).toMatchObject({
      ...{ ok: false, error: 'INVALID_CLASS_FORMAT' },
    })
    const again = await standInCall(jvm, known, program)
    await the(jvm.virtualMachine.redefineClasses([{ type, bytes: file }]))
    known = await lookUp(jvm)
    const { id } = (await known.value('object')) as { id: ObjectId }
    const invoked = await the(
      jvm.objectReference.invokeMethod(id, known.program, {
        ...{ thread: again.thread, method: known.method('plus'), arguments: [{ tag: 'INT', value: 2 }] },
      }),
    )
    expect(invoked.value).toEqual({ tag: 'INT', value: 4 }) // 6 - 2
    await the(jvm.resume(again.set))
    expect(await again.answer).toMatch(/^returned /)
  })

  async function threadNamed(name: string): Promise<ThreadId> {
    for (const thread of await the(jvm.virtualMachine.allThreads())) {
      if ((await the(jvm.threadReference.name(thread))) === name) return thread
    }
    throw new Error(`no thread ${name}`)
  }
})
