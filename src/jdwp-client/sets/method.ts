// Command set 6, Method: data of the class file about a method.

import type { DataReader, DataWriter } from '../data.ts'
import type { MethodId, TypeId } from '../ids.ts'
import { boolean, CommandSet } from './command-set.ts'
import type { Generic } from './reference-type.ts'

/** A row of a line table. `bci` is where the code of the line begins. */
export interface Line {
  readonly bci: number
  readonly line: number
}

export interface LineTable {
  /** First bci of the method. `start` and `end`, the last bci, are -1 for a native method. */
  readonly start: number
  readonly end: number
  readonly lines: readonly Line[]
}

/** A row of a variable table: the slot contains this variable from `bci` to `bci + length`. */
export interface Variable {
  readonly bci: number
  readonly length: number
  readonly name: string
  readonly descriptor: string
  readonly slot: number
}

export interface VariableTable<V extends Variable = Variable> {
  /** Number of argument slots. A long or double has two slots. */
  readonly argumentSlots: number
  /** Local variables, including `this`. */
  readonly variables: readonly V[]
}

export class Method extends CommandSet {
  /** Returns the line table, or an error if the method has none, for example because it is native. */
  readonly lineTable = this.command('Method.LineTable', ofMethod, readLineTable)

  /** Returns the variable table, or an error if the class was compiled without variable tables (`javac -g`). */
  readonly variableTable = this.command(
    'Method.VariableTable',
    ofMethod,
    (r): VariableTable => ({
      argumentSlots: r.int(),
      variables: r.list(() => ({ ...readName(r), length: r.int(), slot: r.int() })),
    }),
  )

  readonly variableTableWithGeneric = this.command(
    'Method.VariableTableWithGeneric',
    ofMethod,
    (r): VariableTable<Variable & Generic> => ({
      argumentSlots: r.int(),
      variables: r.list(() => ({
        ...readName(r),
        ...{ genericSignature: r.string(), length: r.int(), slot: r.int() },
      })),
    }),
  )

  /** Returns the bytecode; empty for a method without code. Needs `canGetBytecodes`. */
  readonly bytecodes = this.command('Method.Bytecodes', ofMethod, (r) => r.block())

  /** Returns whether a redefinition has replaced the method. */
  readonly isObsolete = this.command('Method.IsObsolete', ofMethod, boolean)
}

function ofMethod(w: DataWriter, type: TypeId, method: MethodId): DataWriter {
  return w.id('referenceType', type).id('method', method)
}

function readLineTable(r: DataReader): LineTable {
  const [start, end] = [r.index(), r.index()]
  return { start, end, lines: r.list(() => ({ bci: r.index(), line: r.int() })) }
}

function readName(r: DataReader) {
  return { bci: r.index(), name: r.string(), descriptor: r.string() }
}
