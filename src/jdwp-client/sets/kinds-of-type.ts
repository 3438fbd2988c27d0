// Command sets 3 to 5, ClassType, ArrayType and InterfaceType: what only one kind of type has.

import { type Asker, nothing } from '../asker.ts'
import { type DataWriter, isNull } from '../data.ts'
import type { Result } from '../errors.ts'
import type { ArrayId, ArrayTypeId, ClassId, FieldId, InterfaceId, TypeId } from '../ids.ts'
import { readObject, readObjectOrNull, type TaggedObject, type Value, writeUntagged } from '../values.ts'
import {
  type Invocation,
  type Invoked,
  type InvokeOptions,
  readInvoked,
  writeArguments,
} from './invocation.ts'

/** A field and what is put into it. Primitive values exactly as the field declares them. */
export interface FieldValue {
  readonly field: FieldId
  readonly value: Value
}

export function writeFieldValues(w: DataWriter, values: readonly FieldValue[]): void {
  w.list(values, ({ field, value }) => writeUntagged(w.id('field', field), value))
}

/** How a constructor ended: one of both is null. */
export interface Created {
  readonly object: TaggedObject | null
  readonly exception: TaggedObject | null
}

export class ClassType {
  constructor(private readonly asker: Asker) {}

  /** null: of java.lang.Object. */
  superclass(type: ClassId): Promise<Result<ClassId | null>> {
    return this.asker.ask(
      'ClassType.Superclass',
      (w) => w.id('referenceType', type),
      (r) => {
        const id = r.id('referenceType') as TypeId as ClassId
        return isNull(id) ? null : id
      },
    )
  }

  /** Static fields; final ones cannot be set. */
  setValues(type: ClassId, values: readonly FieldValue[]): Promise<Result<void>> {
    return this.asker.ask(
      'ClassType.SetValues',
      (w) => writeFieldValues(w.id('referenceType', type), values),
      nothing,
    )
  }

  /** A static method, of the class or of one above it. */
  invokeMethod(type: ClassId, invocation: Invocation, options: InvokeOptions = {}): Promise<Result<Invoked>> {
    return this.asker.invoke(
      'ClassType.InvokeMethod',
      writeStatic(type, invocation, options),
      readInvoked,
      options,
    )
  }

  /** A constructor of this class. Nothing refers to the object: see `objectReference.disableCollection`. */
  newInstance(type: ClassId, invocation: Invocation, options: InvokeOptions = {}): Promise<Result<Created>> {
    return this.asker.invoke(
      'ClassType.NewInstance',
      writeStatic(type, invocation, options),
      (r) => ({ object: readObjectOrNull(r), exception: readObjectOrNull(r) }),
      options,
    )
  }
}

export class ArrayType {
  constructor(private readonly asker: Asker) {}

  newInstance(type: ArrayTypeId, length: number): Promise<Result<ArrayId>> {
    return this.asker.ask(
      'ArrayType.NewInstance',
      (w) => w.id('referenceType', type).int(length),
      (r) => readObject(r).id as ArrayId,
    )
  }
}

export class InterfaceType {
  constructor(private readonly asker: Asker) {}

  /** A static method of the interface. */
  invokeMethod(
    type: InterfaceId,
    invocation: Invocation,
    options: InvokeOptions = {},
  ): Promise<Result<Invoked>> {
    return this.asker.invoke(
      'InterfaceType.InvokeMethod',
      writeStatic(type, invocation, options),
      readInvoked,
      options,
    )
  }
}

function writeStatic(type: TypeId, invocation: Invocation, options: InvokeOptions) {
  return (w: DataWriter): void => {
    w.id('referenceType', type).object(invocation.thread).id('method', invocation.method)
    writeArguments(w, invocation, options)
  }
}
