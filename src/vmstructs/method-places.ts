// Finds the addresses of a class's methods in the JVM's memory by their names. Only reads memory.
//
//   Class mirror → InstanceKlass → Array<Method*> → Method → ConstMethod → ConstantPool → Symbol

import { ClassFormatProblem } from '../classfile/problem.ts'
import { decodeModifiedUtf8 } from '../classfile/utf8.ts'
import { type Memory, type MemoryPort, Pieces } from './memory.ts'
import type { Structs } from './structs.ts'

/** Offsets in the target JVM's structures. */
interface Layout {
  readonly klassInMirror: number
  readonly methods: number
  readonly arrayLength: number
  readonly arrayData: number
  readonly constMethod: number
  readonly constants: number
  readonly nameIndex: number
  readonly signatureIndex: number
  readonly poolBytes: number
  readonly symbolLength: number
  readonly symbolBody: number
}

/** Maximum number of methods in a class file. */
const MAX_METHODS = 65_535
/** Numbers of bytes read for a symbol. Most names fit in the first length; a longer name is read again with the next length. */
const SYMBOL_BYTES = [64, 512, 65_535]

export class MethodPlaces {
  private constructor(
    private readonly memory: Memory,
    private readonly port: Pick<MemoryPort, 'mirrorWords'>,
    private readonly layout: Layout,
  ) {}

  /** @returns null if this JVM's data have an unknown layout */
  static async open(
    memory: Memory,
    port: Pick<MemoryPort, 'mirrorWords'>,
    structs: Structs,
  ): Promise<MethodPlaces | null> {
    const klassAt = structs.address('java_lang_Class._klass_offset')
    if (klassAt === undefined) return null
    const klassInMirror = (await memory.read(klassAt, 4)).i32(0)
    const layout = {
      klassInMirror,
      methods: structs.offset('InstanceKlass._methods'),
      arrayLength: structs.offset('Array<Klass*>._length') ?? structs.offset('Array<int>._length'),
      arrayData: structs.offset('Array<Method*>._data'),
      constMethod: structs.offset('Method._constMethod'),
      constants: structs.offset('ConstMethod._constants'),
      nameIndex: structs.offset('ConstMethod._name_index'),
      signatureIndex: structs.offset('ConstMethod._signature_index'),
      poolBytes: structs.sizeOf('ConstantPool'),
      symbolLength: structs.offset('Symbol._length'),
      symbolBody: structs.offset('Symbol._body') ?? structs.offset('Symbol._body[0]'),
    }
    if (!isComplete(layout) || klassInMirror < 8 || klassInMirror > 256) return null
    return new MethodPlaces(memory, port, layout)
  }

  /** Returns the addresses of all methods of these classes, keyed by class number, then by `name(descriptor)`. */
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

  /** Returns the addresses of the methods of each readable class, in the JVM's order. */
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
      if (arrays[i] === 0 || length < 0 || length > MAX_METHODS) return
      places.push({ classId, methods: [], array: arrays[i], length })
    })
    // Reads arrays word by word, since arrays of different lengths would need one request per length.
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
    const texts = await this.#texts(symbols)
    const textOf = (symbol: number) => texts.get(symbol) ?? ''
    return methods.map((_, i) => textOf(symbols[2 * i]) + textOf(symbols[2 * i + 1]))
  }

  async #texts(symbols: readonly number[]): Promise<Map<number, string>> {
    const { layout: at, memory } = this
    const texts = new Map<number, string>()
    let left = [...new Set(symbols)].filter((it) => it !== 0)
    for (const bytes of SYMBOL_BYTES) {
      const found = await memory.gather(left, at.symbolBody + bytes)
      const longer: number[] = []
      for (const [i, symbol] of left.entries()) {
        const length = found.u16(i, at.symbolLength)
        if (length <= bytes) texts.set(symbol, nameOf(found.slice(i, at.symbolBody, length)))
        else longer.push(symbol)
      }
      left = longer
    }
    return texts
  }
}

/** Decodes a name. Returns an empty text for invalid bytes, which occur if the class is being unloaded. */
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
