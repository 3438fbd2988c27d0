// Builds a class file from the data that a debugger provides: the pool and the bytecode of the methods. The class file is used only to find
// the calls of methods: it has no fields, handlers, frames or annotations.
//
// A debugger does not provide the bootstrap methods (JVMS 4.7.23), only the method handles in the pool. So each dynamic call site gets the
// bootstrap method that its name implies. A lambda gets every method handle whose first parameters have the types of the captured values
// (LambdaMetafactory requires equal types, except for a receiver). These handles contain the lambda's actual method.

import type { ClassFile, MethodInfo } from './class-file.ts'
import {
  CONSTANT_CLASS,
  CONSTANT_DYNAMIC,
  CONSTANT_INVOKE_DYNAMIC,
  CONSTANT_METHOD_HANDLE,
  CONSTANT_UTF8,
  ConstantPool,
  type DynamicRef,
  MAX_POOL_COUNT,
  type MethodHandle,
} from './constant-pool.ts'
import { parseMethodDescriptor } from './descriptor.ts'
import { ClassFormatProblem } from './problem.ts'
import { Reader } from './reader.ts'
import { encodeModifiedUtf8 } from './utf8.ts'
import { Writer } from './writer.ts'

export interface ClassParts
  extends Pick<ClassFile, 'major' | 'access' | 'name' | 'superName' | 'interfaces'> {
  /** Pool in class file format; `count` is one more than the highest index. */
  readonly pool: { readonly count: number; readonly bytes: Uint8Array }
  readonly methods: readonly MethodParts[]
}

export interface MethodParts extends Pick<MethodInfo, 'access' | 'name' | 'descriptor'> {
  /** Bytecode of the method; null for a method without code. */
  readonly bytecode: Uint8Array | null
}

const MAGIC = 0xcafebabe
/** Value for max_stack and max_locals. Unused by readers of this class file. */
const MANY = 0xffff

const LAMBDAS = 'java/lang/invoke/LambdaMetafactory'
const CONCATENATIONS = 'java/lang/invoke/StringConcatFactory'
const RECORDS = 'java/lang/runtime/ObjectMethods'
const SWITCHES = 'java/lang/runtime/SwitchBootstraps'
const MAKERS: ReadonlySet<string> = new Set([LAMBDAS, CONCATENATIONS, RECORDS, SWITCHES])
/** First characters of the descriptor of every bootstrap method. */
const LOOKUP = '(Ljava/lang/invoke/MethodHandles$Lookup;'

const REF_INVOKE_STATIC = 6
const REF_NEW_INVOKE_SPECIAL = 8
const FIRST_REF_OF_METHODS = 5

/** @throws ClassFormatProblem if the pool is malformed, or full */
export function rebuildClass(parts: ClassParts): Uint8Array {
  const pool = new GrowingPool(parts.pool)
  const body = new Writer(4096)
  body.u2(parts.access)
  body.u2(pool.classNamed(parts.name))
  body.u2(parts.superName === null ? 0 : pool.classNamed(parts.superName))
  body.u2(parts.interfaces.length)
  for (const it of parts.interfaces) body.u2(pool.classNamed(it))
  body.u2(0) // fields
  body.u2(parts.methods.length)
  for (const method of parts.methods) writeMethod(body, pool, method)
  const bootstraps = bootstrapsOf(pool.told, parts.name)
  body.u2(bootstraps.length === 0 ? 0 : 1)
  if (bootstraps.length > 0) writeBootstraps(body, pool, bootstraps)

  const file = new Writer(body.length + parts.pool.bytes.length + 1024)
  file.u4(MAGIC)
  file.u2(0)
  file.u2(parts.major)
  file.u2(pool.count)
  file.copy(parts.pool.bytes)
  file.copy(pool.added())
  file.copy(body.finish())
  return file.finish()
}

function writeMethod(
  w: Writer,
  pool: GrowingPool,
  { access, name, descriptor, bytecode }: MethodParts,
): void {
  w.u2(access)
  w.u2(pool.utf8(name))
  w.u2(pool.utf8(descriptor))
  if (bytecode === null) {
    w.u2(0)
    return
  }
  w.u2(1)
  w.u2(pool.utf8('Code'))
  w.u4(12 + bytecode.length)
  w.u2(MANY)
  w.u2(MANY)
  w.u4(bytecode.length)
  w.copy(bytecode)
  w.u2(0) // handlers
  w.u2(0) // attributes
}

/** A bootstrap method: pool indices of the method and of the method handles that are its arguments. */
interface Bootstrap {
  readonly maker: number
  readonly handles: readonly number[]
}

function writeBootstraps(w: Writer, pool: GrowingPool, all: readonly Bootstrap[]): void {
  w.u2(pool.utf8('BootstrapMethods'))
  w.u4(2 + all.reduce((sum, { handles }) => sum + 4 + 2 * handles.length, 0))
  w.u2(all.length)
  for (const { maker, handles } of all) {
    w.u2(maker)
    w.u2(handles.length)
    for (const it of handles) w.u2(it)
  }
}

/** Returns the table of bootstrap methods; empty if the class has no dynamic call site. */
function bootstrapsOf(pool: ConstantPool, className: string): Bootstrap[] {
  const handles: { readonly index: number; readonly handle: MethodHandle }[] = []
  const sites: DynamicRef[] = []
  for (let index = 1; index < pool.count; index++) {
    const tag = pool.tag(index)
    if (tag === CONSTANT_METHOD_HANDLE) handles.push({ index, handle: pool.methodHandle(index) })
    else if (tag === CONSTANT_INVOKE_DYNAMIC) sites.push(pool.invokeDynamic(index))
    else if (tag === CONSTANT_DYNAMIC) sites.push(pool.dynamic(index))
  }
  const makers = handles.filter(
    ({ handle }) => MAKERS.has(handle.owner) || handle.descriptor.startsWith(LOOKUP),
  )
  const [someMaker] = makers
  if (someMaker === undefined) return []
  const meant = handles.filter((it) => !makers.includes(it) && it.handle.kind >= FIRST_REF_OF_METHODS)
  const makerOf = (owner: string) => makers.find(({ handle }) => handle.owner === owner)
  const stranger = makers.find(({ handle }) => !MAKERS.has(handle.owner))

  const all: Bootstrap[] = []
  for (const site of sites) {
    const told = makerOf(standsFor(site, className))
    // If the pool does not contain the implied bootstrap method, prefers a bootstrap method that is not a JDK method.
    const maker = told ?? stranger ?? makerOf(LAMBDAS) ?? someMaker
    const before = all[site.bootstrapIndex]?.handles ?? []
    const own = maker.handle.owner === LAMBDAS ? meant.filter(({ handle }) => takes(handle, site)) : meant
    const found = MAKERS.has(maker.handle.owner) && maker.handle.owner !== LAMBDAS ? [] : own
    const both = new Set([...before, ...found.map(({ index }) => index)])
    all[site.bootstrapIndex] = { maker: maker.index, handles: [...both] }
  }
  return Array.from(all, (it) => it ?? { maker: someMaker.index, handles: [] })
}

/** Returns the class of the bootstrap method that the name of a call site implies; empty if unknown. */
function standsFor({ name, descriptor }: DynamicRef, className: string): string {
  if (/^makeConcat(?:WithConstants)?$/.test(name)) return CONCATENATIONS
  if (/^(?:equals|hashCode|toString)$/.test(name) && descriptor.startsWith(`(L${className};`)) return RECORDS
  if (/^(?:type|enum)Switch$/.test(name)) return SWITCHES
  return /\)L[^;]+;$/.test(descriptor) ? LAMBDAS : ''
}

/** Returns whether this method can be the body of a lambda. The parameters of the call site are the captured values. */
function takes({ kind, descriptor }: MethodHandle, site: DynamicRef): boolean {
  const captured = parseMethodDescriptor(site.descriptor).parameters
  const { parameters } = parseMethodDescriptor(descriptor)
  if (kind === REF_INVOKE_STATIC || kind === REF_NEW_INVOKE_SPECIAL)
    return captured.every((it, i) => parameters[i] === it)
  const [receiver, ...others] = captured
  return (receiver === undefined || receiver.startsWith('L')) && others.every((it, i) => parameters[i] === it)
}

/** The pool from the debugger, to which entries can be appended. */
class GrowingPool {
  readonly told: ConstantPool
  readonly #added = new Writer()
  readonly #indices = new Map<string, number>()
  #count: number

  constructor({ count, bytes }: ClassParts['pool']) {
    const whole = new Uint8Array(bytes.length + 2)
    whole[0] = count >>> 8
    whole[1] = count
    whole.set(bytes, 2)
    this.told = new ConstantPool(new Reader(whole))
    this.#count = count
  }

  get count(): number {
    return this.#count
  }

  added(): Uint8Array {
    return this.#added.finish()
  }

  utf8(text: string): number {
    return this.#entry(`u${text}`, (w) => {
      const bytes = encodeModifiedUtf8(text)
      w.u1(CONSTANT_UTF8)
      w.u2(bytes.length)
      w.copy(bytes)
    })
  }

  classNamed(name: string): number {
    const text = this.utf8(name)
    return this.#entry(`c${name}`, (w) => {
      w.u1(CONSTANT_CLASS)
      w.u2(text)
    })
  }

  #entry(key: string, write: (w: Writer) => void): number {
    const known = this.#indices.get(key)
    if (known !== undefined) return known
    if (this.#count >= MAX_POOL_COUNT) throw new ClassFormatProblem('its constant pool is full')
    write(this.#added)
    this.#indices.set(key, this.#count)
    return this.#count++
  }
}
