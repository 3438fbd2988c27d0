// The program that real JVMs run here, and what a debugger knows of it once its main thread stands in `call`.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { granted, type JdwpTarget } from '../../src/jdwp-client/index.ts'
import { cacheDirectory } from '../support/cache.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { type Jdk, oldest } from '../support/jdks.ts'

let compiled: Promise<string> | undefined

/** One compilation does for every JDK and every test file: it is kept, by what it is of. */
export function debuggeeClasses(): Promise<string> {
  compiled ??= compileOnce(join(import.meta.dirname, 'debuggee'))
  return compiled
}

async function compileOnce(sources: string): Promise<string> {
  const hash = createHash('sha256').update(oldest.full)
  for (const name of readdirSync(join(sources, 'dbg')).sort())
    hash.update(readFileSync(join(sources, 'dbg', name)))
  const classes = join(cacheDirectory(), `debuggee-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(classes)) return classes
  mkdirSync(cacheDirectory(), { recursive: true })
  const aside = mkdtempSync(join(cacheDirectory(), '.compiling-'))
  await compileJava(oldest, sources, { outDir: aside, options: ['-g'] })
  try {
    renameSync(aside, classes)
  } catch (error) {
    rmSync(aside, { recursive: true })
    if (!existsSync(classes)) throw error // otherwise somebody else was faster
  }
  return classes
}

export const SERVER = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'

export interface Debuggee {
  readonly java: JavaProcess
  /** Tells it to do something. @returns its answer, which comes when it is done */
  say(word: string): Promise<string>
  /** Of the debugger that comes `nth`, from 1: a JVM takes a new one after each. */
  port(nth?: number): Promise<number>
}

export async function startDebuggee(
  jdk: Jdk,
  agent: string = SERVER,
  more: readonly string[] = [],
): Promise<Debuggee> {
  const cwd = await debuggeeClasses()
  const java = startJava(jdk, [agent, ...more, '-cp', '.', 'dbg.Debuggee'], { cwd })
  let said = 0
  return {
    java,
    say: (word) => {
      java.send(word)
      return java.line(/^(returned|done|ticks)/, ++said)
    },
    port: async (nth = 1) => Number(/\d+$/.exec(await java.line(/^Listening for transport/, nth))![0]),
  }
}

/** Ids of what the program consists of. */
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
    /** Value of a static field. */
    async value(name: string) {
      const [value] = granted(await jvm.referenceType.getValues(program.id, [named(fields, name).id]), name)
      return value!
    },
    /** The bci of the nth line of a method, from 0. */
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

/** Has the main thread come to the second line of `call`, and stand there. */
export async function standInCall(jvm: JdwpTarget, known: Known, program: Pick<Debuggee, 'say'>) {
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
