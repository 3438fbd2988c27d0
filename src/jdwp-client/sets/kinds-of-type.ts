// Command sets 3 to 5, ClassType, ArrayType and InterfaceType. Each set has commands for a single kind of type.

import { type Asker, nothing } from '../asker.ts'
import type { CommandName } from '../commands.ts'
import { type DataReader, type DataWriter, isNull } from '../data.ts'
import type { Result } from '../errors.ts'
import type { ArrayId, ArrayTypeId, ClassId, FieldId, InterfaceId, TypeId } from '../ids.ts'
import { readObject, readObjectOrNull, type TaggedObject, type Value, writeUntagged } from '../values.ts'
import { CommandSet, ofType } from './command-set.ts'
import {
  type Invocation,
  type Invoked,
  type InvokeOptions,
  readInvoked,
  writeArguments,
} from './invocation.ts'

/** A field and its new value. A primitive value must have exactly the declared type. */
export interface FieldValue {
  readonly field: FieldId
  readonly value: Value
}

export function writeFieldValues(w: DataWriter, values: readonly FieldValue[]): void {
  w.list(values, ({ field, value }) => writeUntagged(w.id('field', field), value))
}

/** Result of a constructor: the new object or the thrown exception. The other field is null. */
export interface Created {
  readonly object: TaggedObject | null
  readonly exception: TaggedObject | null
}

export class ClassType extends CommandSet {
  /** Returns the superclass; null for java.lang.Object. */
  readonly superclass = this.command('ClassType.Superclass', ofType<ClassId>, (r) => {
    const id = r.id('referenceType') as TypeId as ClassId
    return isNull(id) ? null : id
  })

  /** Sets static fields. Final fields cannot be set. */
  readonly setValues = this.command(
    'ClassType.SetValues',
    (w, type: ClassId, values: readonly FieldValue[]) => writeFieldValues(ofType(w, type), values),
    nothing,
  )

  /** Invokes a static method of the class or of a superclass. */
  readonly invokeMethod = invocationOf<ClassId, Invoked>(this.asker, 'ClassType.InvokeMethod', readInvoked)

  /** Invokes a constructor of this class. The program does not refer to the new object: see `objectReference.disableCollection`. */
  readonly newInstance = invocationOf<ClassId, Created>(this.asker, 'ClassType.NewInstance', (r) => ({
    object: readObjectOrNull(r),
    exception: readObjectOrNull(r),
  }))
}

export class ArrayType extends CommandSet {
  readonly newInstance = this.command(
    'ArrayType.NewInstance',
    (w, type: ArrayTypeId, length: number) => ofType(w, type).int(length),
    (r) => readObject(r).id as ArrayId,
  )
}

export class InterfaceType extends CommandSet {
  /** Invokes a static method of the interface. */
  readonly invokeMethod = invocationOf<InterfaceId, Invoked>(
    this.asker,
    'InterfaceType.InvokeMethod',
    readInvoked,
  )
}

function invocationOf<Type extends TypeId, T>(asker: Asker, name: CommandName, read: (r: DataReader) => T) {
  return (type: Type, invocation: Invocation, options: InvokeOptions = {}): Promise<Result<T>> =>
    asker.ask(
      name,
      (w) => {
        ofType(w, type).object(invocation.thread).id('method', invocation.method)
        writeArguments(w, invocation, options)
      },
      read,
      { ...options, endsIfSilent: true },
    )
}
