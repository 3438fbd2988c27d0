// Command set 9, ObjectReference: what every object can be asked.

import { type Asker, type AskOptions, nothing } from '../asker.ts'
import type { DataWriter } from '../data.ts'
import type { Result } from '../errors.ts'
import type { FieldId, ObjectId, ThreadId, TypeId } from '../ids.ts'
import { type ObjectValue, readObject, readValue, type Value } from '../values.ts'
import {
  type Invocation,
  type Invoked,
  type InvokeOptions,
  readInvoked,
  writeArguments,
} from './invocation.ts'
import { type FieldValue, writeFieldValues } from './kinds-of-type.ts'
import { readType, type Type } from './types.ts'

export interface MonitorInfo {
  /** null: nobody is in it. */
  readonly owner: ThreadId | null
  /** How often its owner has entered it. */
  readonly entryCount: number
  /** Threads that want to enter it, or wait in `Object.wait`. */
  readonly waiters: readonly ThreadId[]
}

export class ObjectReference {
  constructor(private readonly asker: Asker) {}

  /** Its class, or its array type. */
  referenceType(object: ObjectId): Promise<Result<Type>> {
    return this.asker.ask('ObjectReference.ReferenceType', of(object), readType)
  }

  /** Instance fields, in this order; private ones too. */
  getValues(object: ObjectId, fields: readonly FieldId[]): Promise<Result<Value[]>> {
    return this.asker.ask(
      'ObjectReference.GetValues',
      (w) => w.object(object).list(fields, (field) => w.id('field', field)),
      (r) => r.list(() => readValue(r)),
    )
  }

  setValues(object: ObjectId, values: readonly FieldValue[]): Promise<Result<void>> {
    return this.asker.ask(
      'ObjectReference.SetValues',
      (w) => writeFieldValues(w.object(object), values),
      nothing,
    )
  }

  /** All threads must be suspended. Needs `canGetMonitorInfo`. */
  monitorInfo(object: ObjectId): Promise<Result<MonitorInfo>> {
    return this.asker.ask('ObjectReference.MonitorInfo', of(object), (r) => ({
      ...{ owner: r.objectOrNull<ThreadId>(), entryCount: r.int() },
      waiters: r.list(() => r.object<ThreadId>()),
    }))
  }

  /** @param type  whose method it is: the object's class, or one above it */
  invokeMethod(
    object: ObjectId,
    type: TypeId,
    invocation: Invocation,
    options: InvokeOptions = {},
  ): Promise<Result<Invoked>> {
    return this.asker.invoke(
      'ObjectReference.InvokeMethod',
      (w) => {
        w.object(object).object(invocation.thread)
        writeArguments(w.id('referenceType', type).id('method', invocation.method), invocation, options)
      },
      readInvoked,
      options,
    )
  }

  /** It stays even if the program lets go of it, until `enableCollection` or the end of the connection. */
  disableCollection(object: ObjectId): Promise<Result<void>> {
    return this.asker.ask('ObjectReference.DisableCollection', of(object), nothing)
  }

  enableCollection(object: ObjectId): Promise<Result<void>> {
    return this.asker.ask('ObjectReference.EnableCollection', of(object), nothing)
  }

  isCollected(object: ObjectId): Promise<Result<boolean>> {
    return this.asker.ask('ObjectReference.IsCollected', of(object), (r) => r.boolean())
  }

  /** Objects that refer to it, stacks and JNI left out: walks through the heap. @param most  0: all of them */
  referringObjects(object: ObjectId, most: number, options?: AskOptions): Promise<Result<ObjectValue[]>> {
    return this.asker.ask(
      'ObjectReference.ReferringObjects',
      (w) => w.object(object).int(most),
      (r) => r.list(() => readObject(r)),
      options,
    )
  }
}

const of = (object: ObjectId) => (w: DataWriter) => w.object(object)
