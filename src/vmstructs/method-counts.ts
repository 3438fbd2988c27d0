// How often methods have run in a JVM, read from its own counters; nothing is changed for that.
//
// HotSpot begins every method in its interpreter, which counts invocations to find what is worth compiling, first in the
// method's MethodCounters, then in its MethodData (invocationCounter.hpp, compilationPolicy.cpp). Code of the levels 2 and 3
// counts on; code of level 1 (what is trivial) and of level 4 does not. A method without any count and any code has not
// run since its class was loaded or last redefined, but for calls that a compiler had inlined: level 3 counts those except
// accessors, the others do not. With -Xint, or without profiling compilers, less is counted. Evidence may be missing, and
// is never too much.
//
//   Class mirror → InstanceKlass → Array<Method*> → Method → MethodCounters, MethodData, nmethod
//                                                     └→ ConstMethod → ConstantPool → Symbol

import { ClassFormatProblem } from '../classfile/problem.ts'
import { decodeModifiedUtf8 } from '../classfile/utf8.ts'
import { type Memory, type MemoryPort, Pieces } from './memory.ts'
import type { Structs } from './structs.ts'

/** Where things lie in the JVM that is looked at. */
interface Layout {
  readonly klassInMirror: number
  readonly methods: number
  readonly arrayLength: number
  readonly arrayData: number
  readonly constMethod: number
  readonly access: number
  readonly counters: number
  readonly profile: number
  readonly code: number
  readonly countersInvocations: number
  readonly profileInvocations: number
  readonly codeLevel: number
  readonly constants: number
  readonly nameIndex: number
  readonly signatureIndex: number
  readonly poolBytes: number
  readonly symbolLength: number
  readonly symbolBody: number
}

/** A method of a class that is loaded, and where the JVM keeps it until the class is redefined or unloaded. */
export interface MethodPlace {
  readonly classId: number
  readonly address: number
}

export interface DeclaredMethod {
  readonly address: number
  /** JVMS table 4.6-A. */
  readonly access: number
}

/** A class file has no more. */
const MOST_METHODS = 65_535
/** Most names are shorter than the first; the others are read again. */
const SYMBOL_BYTES = [64, 512, 65_535]
/** Code of these levels does not count. */
const UNCOUNTED = new Set([1, 4])

export class MethodCounts {
  readonly #symbols = new Map<number, string>()

  private constructor(
    private readonly memory: Memory,
    private readonly port: Pick<MemoryPort, 'mirrorWords'>,
    private readonly layout: Layout,
  ) {}

  /** @returns null if this JVM keeps its data in a way that is not known here */
  static async open(
    memory: Memory,
    port: Pick<MemoryPort, 'mirrorWords'>,
    structs: Structs,
  ): Promise<MethodCounts | null> {
    const klassAt = structs.address('java_lang_Class._klass_offset')
    if (klassAt === undefined) return null
    const klassInMirror = (await memory.read(klassAt, 4)).i32(0)
    // Four ints go before it: both counters, and where they began (methodData.hpp).
    const tenureTraps = structs.offset('MethodData._tenure_traps')
    const layout = {
      klassInMirror,
      methods: structs.offset('InstanceKlass._methods'),
      arrayLength: structs.offset('Array<Klass*>._length') ?? structs.offset('Array<int>._length'),
      arrayData: structs.offset('Array<Method*>._data'),
      constMethod: structs.offset('Method._constMethod'),
      access: structs.offset('Method._access_flags'),
      counters: structs.offset('Method._method_counters'),
      profile: structs.offset('Method._method_data'),
      code: structs.offset('Method._code'),
      countersInvocations: structs.offset('MethodCounters._invocation_counter'),
      profileInvocations: tenureTraps && tenureTraps - 16,
      codeLevel: structs.offset('nmethod._comp_level'),
      constants: structs.offset('ConstMethod._constants'),
      nameIndex: structs.offset('ConstMethod._name_index'),
      signatureIndex: structs.offset('ConstMethod._signature_index'),
      poolBytes: structs.sizeOf('ConstantPool'),
      symbolLength: structs.offset('Symbol._length'),
      symbolBody: structs.offset('Symbol._body') ?? structs.offset('Symbol._body[0]'),
    }
    if (!isComplete(layout) || klassInMirror < 8 || klassInMirror > 256) return null
    return new MethodCounts(memory, port, layout)
  }

  /**
   * @returns calls by `name(descriptor)`, of methods that have run, by class number; infinite where they are no longer
   *          counted. A class that is missing could not be read
   */
  async of(classIds: readonly number[]): Promise<Map<number, Map<string, number>>> {
    const places = await this.places(classIds)
    const counts = await this.calls(places.flatMap((it) => it.methods))
    const run = new Map(places.map(({ classId }) => [classId, new Map<string, number>()]))
    const found: { classId: number; address: number; calls: number }[] = []
    let i = 0
    for (const { classId, methods } of places)
      for (const address of methods) {
        const calls = counts[i++]
        if (calls > 0) found.push({ classId, address, calls })
      }
    const names = await this.#names(found.map((it) => it.address))
    found.forEach(({ classId, calls }, k) => {
      run.get(classId)?.set(names[k], calls)
    })
    return run
  }

  /** Addresses of all methods of these classes, by `name(descriptor)`, by class number. */
  async addresses(classIds: readonly number[]): Promise<Map<number, Map<string, number>>> {
    const places = await this.places(classIds)
    const names = await this.#names(places.flatMap((it) => it.methods))
    let i = 0
    return new Map(
      places.map(({ classId, methods }) => [
        classId,
        new Map(methods.map((address) => [names[i++], address] as const)),
      ]),
    )
  }

  /** Names are remembered by where they lie: no longer, once some may have gone. */
  forgetNames(): void {
    this.#symbols.clear()
  }

  /** What classes declare, by `name(descriptor)`, by class number. */
  async tables(classIds: readonly number[]): Promise<Map<number, Map<string, DeclaredMethod>>> {
    const places = await this.places(classIds)
    const all = places.flatMap((it) => it.methods)
    const names = await this.#names(all)
    const flags = await this.memory.gather(
      all.map((it) => it && it + this.layout.access),
      2,
    )
    let i = 0
    return new Map(
      places.map(({ classId, methods }) => [
        classId,
        new Map(methods.map((address) => [names[i], { address, access: flags.u16(i++) }] as const)),
      ]),
    )
  }

  /** Numbers of classes by where the JVM keeps them. */
  async klasses(classIds: readonly number[]): Promise<Map<number, number>> {
    const mirrors = new Pieces(await this.port.mirrorWords(this.layout.klassInMirror, classIds), 8)
    return new Map(classIds.map((id, i) => [mirrors.word(i), id]))
  }

  /** How often the methods at these addresses have run; infinite where that is no longer counted. */
  async calls(addresses: readonly number[]): Promise<Float64Array> {
    const { layout: at, memory } = this
    const first = Math.min(at.counters, at.profile, at.code)
    const methods = await memory.gather(
      addresses.map((it) => it && it + first),
      Math.max(at.counters, at.profile, at.code) - first + 8,
    )
    const calls = new Float64Array(addresses.length)
    const [counters, profiles, codes] = [at.counters, at.profile, at.code].map((field) => {
      const some: number[] = []
      const where: number[] = []
      for (let i = 0; i < addresses.length; i++) {
        const pointer = methods.word(i, field - first)
        if (pointer === 0) continue
        some.push(i)
        where.push(pointer)
      }
      return { some, where }
    })
    for (const [{ some, where }, field] of [
      [counters, at.countersInvocations],
      [profiles, at.profileInvocations],
    ] as const) {
      const values = await memory.gather(
        where.map((it) => it + field),
        4,
      )
      // The lowest bit says that the counter has overflowed.
      for (const [k, i] of some.entries()) calls[i] += values.u32(k) >>> 1
    }
    const levels = await memory.gather(
      codes.where.map((it) => it + at.codeLevel),
      1,
    )
    for (const [k, i] of codes.some.entries())
      if (UNCOUNTED.has(levels.u8(k))) calls[i] = Number.POSITIVE_INFINITY
    return calls
  }

  /** Addresses of the methods of each class that can be read, in the JVM's order. */
  async places(
    classIds: readonly number[],
  ): Promise<{ readonly classId: number; readonly methods: readonly number[] }[]> {
    const { layout: at, memory } = this
    const mirrors = new Pieces(await this.port.mirrorWords(at.klassInMirror, classIds), 8)
    const klasses = classIds.map((_, i) => mirrors.word(i))
    const pointers = await memory.gather(
      klasses.map((it) => it && it + at.methods),
      8,
    )
    const arrays = classIds.map((_, i) => pointers.word(i))
    const lengths = await memory.gather(
      arrays.map((it) => it && it + at.arrayLength),
      4,
    )
    const places: { classId: number; methods: number[]; array: number; length: number }[] = []
    classIds.forEach((classId, i) => {
      const length = lengths.i32(i)
      if (arrays[i] === 0 || length < 0 || length > MOST_METHODS) return
      places.push({ classId, methods: [], array: arrays[i], length })
    })
    // Word by word: arrays have many lengths, and each length would be a question of its own.
    const words = await memory.gather(
      places.flatMap(({ array, length }) => Array.from({ length }, (_, k) => array + at.arrayData + 8 * k)),
      8,
    )
    let next = 0
    for (const { methods, length } of places)
      for (let k = 0; k < length; k++) methods.push(words.word(next++))
    return places
  }

  async #names(methods: readonly number[]): Promise<string[]> {
    const { layout: at, memory } = this
    const pointers = await memory.gather(
      methods.map((it) => it && it + at.constMethod),
      8,
    )
    const constMethods = methods.map((_, i) => pointers.word(i))
    const views = await memory.gather(
      constMethods,
      Math.max(at.nameIndex, at.signatureIndex, at.constants + 6) + 2,
    )
    const slots = methods.flatMap((_, i) => {
      const pool = views.word(i, at.constants) + at.poolBytes
      return [at.nameIndex, at.signatureIndex].map((it) => pool + 8 * views.u16(i, it))
    })
    const words = await memory.gather(slots, 8)
    const symbols = slots.map((_, i) => words.word(i))
    await this.#readSymbols(symbols)
    return methods.map((_, i) => this.#text(symbols[2 * i]) + this.#text(symbols[2 * i + 1]))
  }

  #text(symbol: number): string {
    return this.#symbols.get(symbol) ?? ''
  }

  async #readSymbols(symbols: readonly number[]): Promise<void> {
    const { layout: at, memory } = this
    let left = [...new Set(symbols)].filter((it) => it !== 0 && !this.#symbols.has(it))
    for (const bytes of SYMBOL_BYTES) {
      const found = await memory.gather(left, at.symbolBody + bytes)
      const longer: number[] = []
      for (const [i, symbol] of left.entries()) {
        const length = found.u16(i, at.symbolLength)
        if (length <= bytes) this.#symbols.set(symbol, nameOf(found.slice(i, at.symbolBody, length)))
        else longer.push(symbol)
      }
      left = longer
    }
  }
}

/** Of a class that is being unloaded, anything may be read. */
function nameOf(body: Uint8Array): string {
  try {
    return decodeModifiedUtf8(body, 0, body.length)
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return ''
    throw problem
  }
}

function isComplete(layout: { readonly [field in keyof Layout]: number | undefined }): layout is Layout {
  return Object.values(layout).every((it) => it !== undefined)
}
