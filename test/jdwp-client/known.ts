// Facts about the program in debuggee/, as a debugger knows them while the main thread is suspended in `call`.

import { granted, type JdwpTarget } from '../../src/jdwp-client/index.ts'

/** The program itself. */
export interface Talks {
  /** Sends a command to the program. @returns its answer, sent when the command has been executed */
  say(word: string): Promise<string>
}

/** Returns the ids of the program's classes, methods and fields. */
export async function lookUp(jvm: JdwpTarget) {
  const typeOf = async (signature: string) => {
    const [type] = granted(await jvm.virtualMachine.classesBySignature(signature), signature)
    if (type === undefined) throw new Error(`${signature} is not loaded`)
    return type
  }
  const [program, shape, small, ints] = [
    await typeOf('Ldbg/Debuggee;'),
    await typeOf('Ldbg/Shape;'),
    await typeOf('Ldbg/Small;'),
    await typeOf('[I'),
  ]
  if (
    program.kind !== 'CLASS' ||
    shape.kind !== 'INTERFACE' ||
    small.kind !== 'CLASS' ||
    ints.kind !== 'ARRAY'
  ) {
    throw new Error('types of other kinds')
  }
  const methods = granted(await jvm.referenceType.methods(program.id), 'methods')
  const fields = granted(await jvm.referenceType.fields(program.id), 'fields')
  const [sides] = granted(await jvm.referenceType.methods(shape.id), 'methods').filter(
    (m) => m.name === 'sides',
  )
  const named = <T extends { readonly name: string }>(all: readonly T[], name: string): T => {
    const found = all.find((it) => it.name === name)
    if (found === undefined) throw new Error(`no ${name}`)
    return found
  }
  return {
    program: program.id,
    shape: shape.id,
    small: small.id,
    ints: ints.id,
    sides: sides!.id,
    method: (name: string) => named(methods, name).id,
    field: (name: string) => named(fields, name).id,
    /** Reads the value of a static field. */
    async value(name: string) {
      const [value] = granted(await jvm.referenceType.getValues(program.id, [named(fields, name).id]), name)
      return value!
    },
    /** Returns the bci of the nth line of a method, counted from 0. */
    async line(name: string, nth: number) {
      const { lines } = granted(await jvm.method.lineTable(program.id, named(methods, name).id), name)
      const at = lines[nth]!
      return {
        location: { kind: 'CLASS' as const, type: program.id, method: named(methods, name).id, bci: at.bci },
        line: at.line,
      }
    },
  }
}

export type Known = Awaited<ReturnType<typeof lookUp>>

/** Suspends the main thread at the second line of `call`. */
export async function standInCall(jvm: JdwpTarget, known: Known, program: Talks) {
  const { location } = await known.line('call', 1)
  const request = granted(
    await jvm.eventRequest.set('BREAKPOINT', 'EVENT_THREAD', [
      { modifier: 'LocationOnly', location },
      { modifier: 'Count', count: 1 },
    ]),
    'a breakpoint',
  )
  const answer = program.say('call')
  const hit = await jvm.events.next('BREAKPOINT', { request })
  if (hit === null) throw new Error('the breakpoint was not met')
  const [frame] = granted(await jvm.threadReference.frames(hit.event.thread, 0, 1), 'frames')
  return { ...hit, answer, request, thread: hit.event.thread, frame: frame!, location }
}
