// A JVM as its debugger port shows it: one typed method a JDWP command. Only what jfluid asks.

import { JdwpConnection, type Result } from './connection.ts'
import { DataReader, encodeId, encodeString, type JdwpId } from './packet.ts'

const VIRTUAL_MACHINE = 1
const REFERENCE_TYPE = 2
const METHOD = 6

/** Bytes of each kind of id, as this JVM makes them. */
export interface IdSizes {
  readonly field: number
  readonly method: number
  readonly object: number
  readonly referenceType: number
  readonly frame: number
}

export const STATUS_VERIFIED = 1
export const STATUS_PREPARED = 2
export const STATUS_INITIALIZED = 4
export const STATUS_ERROR = 8

export interface LoadedType {
  readonly kind: 'class' | 'interface' | 'array'
  readonly id: JdwpId
  /** JNI signature: `Lfix/Ticker;`. */
  readonly signature: string
  /** STATUS_ bits. */
  readonly status: number
}

export interface Method {
  /** Valid until the class is redefined: ask anew afterwards. */
  readonly id: JdwpId
  readonly name: string
  readonly descriptor: string
  readonly modifiers: number
}

/** A row of a line table: the line's code begins at this bci. */
export interface Line {
  readonly bci: number
  readonly line: number
}

/** A row of a variable table: the slot is this variable's from `bci` on, for `length` bytes of code. */
export interface Variable {
  readonly bci: number
  readonly length: number
  readonly name: string
  readonly descriptor: string
  readonly slot: number
}

/** A live constant pool, in the form of a class file. */
export interface RawConstantPool {
  /** `constant_pool_count`: one more than the highest index. */
  readonly count: number
  readonly bytes: Buffer
}

const KINDS: Readonly<Record<number, LoadedType['kind']>> = { 1: 'class', 2: 'interface', 3: 'array' }

export class JdwpTarget implements AsyncDisposable {
  private constructor(
    private readonly connection: JdwpConnection,
    readonly idSizes: IdSizes,
  ) {}

  /** @throws NoDebuggerPort, MalformedJdwp */
  static async connect(port: number, host?: string): Promise<JdwpTarget> {
    const connection = await JdwpConnection.open(port, host)
    try {
      const reply = await connection.command(VIRTUAL_MACHINE, 7)
      if (!reply.ok) throw new Error(`IDSizes was refused with error ${reply.error}`)
      const r = new DataReader(reply.value)
      const [field, method, object, referenceType, frame] = [r.int(), r.int(), r.int(), r.int(), r.int()]
      return new JdwpTarget(connection, { field, method, object, referenceType, frame })
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** VirtualMachine.ClassesBySignature: every loaded type of this name, one for each loader. */
  async classesBySignature(signature: string): Promise<Result<LoadedType[]>> {
    return this.#ask(VIRTUAL_MACHINE, 2, encodeString(signature), (r) =>
      times(r.count(), () => ({ ...this.#type(r), signature, status: r.int() })),
    )
  }

  /** VirtualMachine.AllClasses. */
  async allClasses(): Promise<Result<LoadedType[]>> {
    return this.#ask(VIRTUAL_MACHINE, 3, Buffer.alloc(0), (r) =>
      times(r.count(), () => ({ ...this.#type(r), signature: r.string(), status: r.int() })),
    )
  }

  /** ReferenceType.Methods: declared ones, constructors and initialisers among them. */
  async methods(type: JdwpId): Promise<Result<Method[]>> {
    return this.#ask(REFERENCE_TYPE, 5, encodeId(type), (r) =>
      times(r.count(), () => ({
        id: r.id(this.idSizes.method),
        name: r.string(),
        descriptor: r.string(),
        modifiers: r.int(),
      })),
    )
  }

  /** ReferenceType.ConstantPool, of the class as it is now. */
  async constantPool(type: JdwpId): Promise<Result<RawConstantPool>> {
    return this.#ask(REFERENCE_TYPE, 18, encodeId(type), (r) => {
      const count = r.count()
      return { count, bytes: Buffer.from(r.bytes(r.count())) }
    })
  }

  /** Method.Bytecodes, as in a class file; empty where there are none. */
  async bytecodes(type: JdwpId, method: JdwpId): Promise<Result<Buffer>> {
    const ids = Buffer.concat([encodeId(type), encodeId(method)])
    return this.#ask(METHOD, 3, ids, (r) => Buffer.from(r.bytes(r.count())))
  }

  /** Method.LineTable. An error where there is none, as for a native method. */
  async lineTable(type: JdwpId, method: JdwpId): Promise<Result<Line[]>> {
    return this.#ask(METHOD, 1, Buffer.concat([encodeId(type), encodeId(method)]), (r) => {
      r.bytes(16) // first and last bci
      return times(r.count(), () => ({ bci: r.long(), line: r.int() }))
    })
  }

  /** Method.VariableTable. An error where there is none: it takes `javac -g`. */
  async variableTable(type: JdwpId, method: JdwpId): Promise<Result<Variable[]>> {
    return this.#ask(METHOD, 2, Buffer.concat([encodeId(type), encodeId(method)]), (r) => {
      r.int() // slots of the arguments
      return times(r.count(), () => ({
        bci: r.long(),
        name: r.string(),
        descriptor: r.string(),
        length: r.int(),
        slot: r.int(),
      }))
    })
  }

  /** VirtualMachine.Dispose: the JVM runs on and takes the next debugger. */
  async dispose(): Promise<void> {
    await this.connection.command(VIRTUAL_MACHINE, 6).catch(() => {}) // it may close before it answers
    await this.connection.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  #type(r: DataReader): Pick<LoadedType, 'kind' | 'id'> {
    const kind = KINDS[r.u1()] ?? 'class'
    return { kind, id: r.id(this.idSizes.referenceType) }
  }

  async #ask<T>(
    set: number,
    command: number,
    data: Uint8Array,
    read: (r: DataReader) => T,
  ): Promise<Result<T>> {
    const reply = await this.connection.command(set, command, data)
    if (!reply.ok) return reply
    const reader = new DataReader(reply.value)
    const value = read(reader)
    reader.finish()
    return { ok: true, value }
  }
}

function times<T>(n: number, one: () => T): T[] {
  const all: T[] = []
  for (let i = 0; i < n; i++) all.push(one())
  return all
}
