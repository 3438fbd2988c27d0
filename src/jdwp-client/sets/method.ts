// Command set 6, Method: what a class file says of one.

import type { Asker } from '../asker.ts'
import type { DataReader, DataWriter } from '../data.ts'
import type { Result } from '../errors.ts'
import type { MethodId, TypeId } from '../ids.ts'
import type { Generic } from './reference-type.ts'

/** A row of a line table: the line's code begins at this bci. */
export interface Line {
  readonly bci: number
  readonly line: number
}

export interface LineTable {
  /** First and last bci; both -1 of a native method. */
  readonly start: number
  readonly end: number
  readonly lines: readonly Line[]
}

/** A row of a variable table: the slot is this variable's from `bci` on, for `length` bytes of code. */
export interface Variable {
  readonly bci: number
  readonly length: number
  readonly name: string
  readonly descriptor: string
  readonly slot: number
}

export interface VariableTable<V extends Variable = Variable> {
  /** Slots of the arguments: two of a long or a double. */
  readonly argumentSlots: number
  /** `this` among them. */
  readonly variables: readonly V[]
}

export class Method {
  constructor(private readonly asker: Asker) {}

  /** An error where there is none, as for a native method. */
  lineTable(type: TypeId, method: MethodId): Promise<Result<LineTable>> {
    return this.asker.ask('Method.LineTable', of(type, method), (r) => ({
      ...{ start: r.index(), end: r.index() },
      lines: r.list(() => ({ bci: r.index(), line: r.int() })),
    }))
  }

  /** An error where there is none: it takes `javac -g`. */
  variableTable(type: TypeId, method: MethodId): Promise<Result<VariableTable>> {
    return this.asker.ask('Method.VariableTable', of(type, method), (r) => ({
      argumentSlots: r.int(),
      variables: r.list(() => ({ ...readName(r), length: r.int(), slot: r.int() })),
    }))
  }

  variableTableWithGeneric(
    type: TypeId,
    method: MethodId,
  ): Promise<Result<VariableTable<Variable & Generic>>> {
    return this.asker.ask('Method.VariableTableWithGeneric', of(type, method), (r) => ({
      argumentSlots: r.int(),
      variables: r.list(() => ({
        ...readName(r),
        ...{ genericSignature: r.string(), length: r.int(), slot: r.int() },
      })),
    }))
  }

  /** As in a class file; empty where there are none. Needs `canGetBytecodes`. */
  bytecodes(type: TypeId, method: MethodId): Promise<Result<Buffer>> {
    return this.asker.ask('Method.Bytecodes', of(type, method), (r) => r.block())
  }

  /** Whether a redefinition has put another in its place. */
  isObsolete(type: TypeId, method: MethodId): Promise<Result<boolean>> {
    return this.asker.ask('Method.IsObsolete', of(type, method), (r) => r.boolean())
  }
}

const of = (type: TypeId, method: MethodId) => (w: DataWriter) =>
  w.id('referenceType', type).id('method', method)

function readName(r: DataReader) {
  return { bci: r.index(), name: r.string(), descriptor: r.string() }
}
