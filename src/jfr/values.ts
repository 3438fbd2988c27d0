// Reads values as described by the types of a chunk.

import type { Cursor, StringKey } from './cursor.ts'
import type { Field, Type, Types } from './metadata.ts'
import { BadRecording } from './problem.ts'

/** Value of a field. A constant is represented by its key, a structure by the list of its fields in the order of its type. */
export type Value = number | string | null | StringKey | readonly Value[]

/** Maximum nesting depth of structures. In valid data, only stack traces contain structures (frames). */
const MAX_DEPTH = 8

export class Values {
  constructor(private readonly types: Types) {}

  /** Reads the fields of a structure or an event, in order. */
  struct(cursor: Cursor, { fields }: Type, depth = 0): Value[] {
    return fields.map((field) => this.#field(cursor, field, depth))
  }

  #field(cursor: Cursor, field: Field, depth: number): Value {
    if (!field.isArray) return this.#one(cursor, field, depth)
    const values: Value[] = []
    for (let left = cursor.count(); left > 0; left--) {
      const before = cursor.at
      values.push(this.#one(cursor, field, depth))
      if (cursor.at === before) break // the element has no bytes, since its type has no fields
    }
    return values
  }

  #one(cursor: Cursor, field: Field, depth: number): Value {
    if (field.isConstant) return cursor.varint()
    const type = this.#type(field, depth)
    switch (type.name) {
      case 'java.lang.String':
        return cursor.string()
      case 'boolean':
      case 'byte':
        return cursor.byte()
      case 'float':
        cursor.skip(4)
        return 0 // no caller needs this value
      case 'double':
        cursor.skip(8)
        return 0
      case 'char':
      case 'short':
      case 'int':
      case 'long':
        return cursor.varint()
      default:
        return this.struct(cursor, type, depth + 1)
    }
  }

  #type(field: Field, depth: number): Type {
    if (depth > MAX_DEPTH) throw new BadRecording(`structures in ${field.name} are nested without an end`)
    const type = this.types.get(field.type)
    if (type === undefined) throw new BadRecording(`field ${field.name} is of an unknown type`)
    return type
  }
}
