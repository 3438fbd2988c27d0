// Constants of a chunk that describe stacks: threads, stack traces, methods, classes, loaders, names.
// A checkpoint event consists of: size, type (1), start, duration, offset of the previous checkpoint, a byte for its kind, and pools. A
// pool is a type and its constants:
//
//   number of pools, (type, number of constants, (key, value)…)…
//
// A chunk is read from its beginning, so the reader finds all checkpoints without the offsets.

import { getOrAdd } from '../base/maps.ts'
import { Cursor } from './cursor.ts'
import type { Type, Types } from './metadata.ts'
import { BadRecording } from './problem.ts'
import { type Value, Values } from './values.ts'

/** A method in a recording. */
export interface MethodConstant {
  /** Class name with dots. */
  readonly class: string
  readonly method: string
  readonly descriptor: string
  /** Class loader: `bootstrap`, `platform`, `app`, or class and number of another loader. */
  readonly loader: string
}

export interface ThreadConstant {
  /** Java thread id; 0 for a native thread of the JVM. */
  readonly id: number
  readonly name: string
  readonly virtual: boolean
}

export interface StackConstant {
  /** Whether the outermost frames are missing because the stack is deeper than the limit of the flight recorder. */
  readonly truncated: boolean
  /** Three numbers per frame, innermost frame first: key of the method, line (-1 or 0 if unknown), bytecode index. */
  readonly frames: Float64Array
}

export const FRAME_NUMBERS = 3

const STRING = 'java.lang.String'
const SYMBOL = 'jdk.types.Symbol'
const CLASS = 'java.lang.Class'
const LOADER = 'jdk.types.ClassLoader'
const METHOD = 'jdk.types.Method'
const THREAD = 'java.lang.Thread'
const STACK = 'jdk.types.StackTrace'

const KEPT = new Set([STRING, SYMBOL, CLASS, LOADER, METHOD, THREAD])

interface Pool {
  readonly type: Type
  readonly values: Map<number, readonly Value[]>
}

export class Constants {
  #values: Values
  readonly #pools = new Map<string, Pool>()
  readonly #stacks = new Map<number, StackConstant>()

  constructor(private types: Types) {
    this.#values = new Values(types)
  }

  /**
   * Adds the constants of a checkpoint.
   *
   * @param event  one whole checkpoint event
   * @throws BadRecording
   */
  add(event: Buffer): void {
    const cursor = new Cursor(event)
    for (let i = 0; i < 5; i++) cursor.varint() // size, type, start, duration, offset
    cursor.byte()
    for (let pools = cursor.count(); pools > 0; pools--) {
      const id = cursor.varint()
      const type = this.types.get(id)
      if (type === undefined) throw new BadRecording(`it has constants of the unknown type ${id}`)
      for (let left = cursor.count(); left > 0; left--) {
        const key = cursor.varint()
        if (type.name === STACK) this.#stacks.set(key, this.#stack(cursor, type))
        else {
          const value = this.#values.struct(cursor, type) // also reads past a constant that is not kept
          if (KEPT.has(type.name)) this.#pool(type).values.set(key, value)
        }
      }
    }
  }

  /** Replaces the types after the JVM has written new metadata. Earlier constants stay valid: new metadata only describe more events. */
  retype(types: Types): void {
    this.types = types
    this.#values = new Values(types)
  }

  stack(key: number): StackConstant | undefined {
    return this.#stacks.get(key)
  }

  /** Returns the method of a key. Returns a placeholder name if the constant of the method is missing. */
  method(key: number): MethodConstant {
    const type = this.#key(METHOD, key, 'type')
    return {
      ...this.classOf(type),
      method: this.#text(this.#get(METHOD, key, 'name')) ?? `#${key}`,
      descriptor: this.#text(this.#get(METHOD, key, 'descriptor')) ?? '()V',
    }
  }

  /** Returns name and loader of a class. The name is as in `Class.getName()`. */
  classOf(key: number): Pick<MethodConstant, 'class' | 'loader'> {
    return {
      class: this.#className(key) ?? '?',
      loader: this.#loader(this.#key(CLASS, key, 'classLoader')),
    }
  }

  thread(key: number): ThreadConstant | undefined {
    if (this.#pools.get(THREAD)?.values.has(key) !== true) return undefined
    const javaName = this.#text(this.#get(THREAD, key, 'javaName'))
    const id = this.#key(THREAD, key, 'javaThreadId')
    return {
      id: Number.isSafeInteger(id) ? id : 0,
      name: javaName || this.#text(this.#get(THREAD, key, 'osName')) || `thread ${key}`,
      virtual: this.#get(THREAD, key, 'virtual') === 1,
    }
  }

  #stack(cursor: Cursor, type: Type): StackConstant {
    let truncated = false
    let frames: Float64Array = new Float64Array(0)
    for (const [i, value] of this.#values.struct(cursor, type).entries()) {
      const field = type.fields[i]!
      if (field.name === 'truncated') truncated = value === 1
      else if (field.name === 'frames' && Array.isArray(value)) {
        frames = framesOf(value, this.types.get(field.type)!)
      }
    }
    return { truncated, frames }
  }

  #className(key: number): string | null {
    return this.#text(this.#get(CLASS, key, 'name'))?.replaceAll('/', '.') ?? null
  }

  #loader(key: number): string {
    if (key === 0) return 'bootstrap'
    const name = this.#text(this.#get(LOADER, key, 'name'))
    if (name === 'bootstrap' || name === 'platform' || name === 'app') return name
    return `${this.#className(this.#key(LOADER, key, 'type')) ?? name ?? 'loader'}@${key}`
  }

  /** Returns the text of a symbol, of a string, or of a key into the string pool. */
  #text(value: Value | undefined): string | null {
    if (typeof value === 'string') return value
    if (typeof value === 'number') {
      const text = this.#get(SYMBOL, value, 'string')
      return typeof text === 'string' ? text : this.#pooled(value)
    }
    if (value !== null && typeof value === 'object' && 'key' in value) return this.#pooled(value.key)
    return null
  }

  #pooled(key: number): string | null {
    const [text] = this.#pools.get(STRING)?.values.get(key) ?? []
    return typeof text === 'string' ? text : null
  }

  #key(pool: string, key: number, field: string): number {
    const value = this.#get(pool, key, field)
    return typeof value === 'number' ? value : 0
  }

  #get(name: string, key: number, field: string): Value | undefined {
    const pool = this.#pools.get(name)
    const at = pool?.type.fields.findIndex((it) => it.name === field) ?? -1
    return at < 0 ? undefined : pool!.values.get(key)?.[at]
  }

  #pool(type: Type): Pool {
    return getOrAdd(this.#pools, type.name, () => ({ type, values: new Map() }))
  }
}

function framesOf(frames: readonly Value[], { fields }: Type): Float64Array {
  const place = ['method', 'lineNumber', 'bytecodeIndex'].map((name) =>
    fields.findIndex((it) => it.name === name),
  )
  const numbers = new Float64Array(frames.length * FRAME_NUMBERS)
  for (const [i, frame] of frames.entries()) {
    if (!Array.isArray(frame)) continue
    for (const [j, at] of place.entries()) {
      const value = frame[at]
      const number = typeof value === 'number' ? value : 0
      numbers[i * FRAME_NUMBERS + j] = j === 0 ? number : number | 0 // truncated to an int
    }
  }
  return numbers
}
