// Command set 9, ObjectReference: what every object can be asked.

import { type AskOptions, nothing } from '../asker.ts'
import type { Result } from '../errors.ts'
import type { FieldId, ObjectId, ThreadId, TypeId } from '../ids.ts'
import { type ObjectValue, readObject, readValue, writeFields } from '../values.ts'
import { boolean, CommandSet, listOf, ofObject } from './command-set.ts'
import {
  type Invocation,
  type Invoked,
  type InvokeOptions,
  readInvoked,
  writeArguments,
} from './invocation.ts'
import { type FieldValue, writeFieldValues } from './kinds-of-type.ts'
import { readType } from './types.ts'

export interface MonitorInfo {
  /** null: nobody is in it. */
  readonly owner: ThreadId | null
  /** How often its owner has entered it. */
  readonly entryCount: number
  /** Threads that want to enter it, or wait in `Object.wait`. */
  readonly waiters: readonly ThreadId[]
}

export class ObjectReference extends CommandSet {
  /** Its class, or its array type. */
  readonly referenceType = this.command('ObjectReference.ReferenceType', ofObject<ObjectId>, readType)

  /** Instance fields, in this order; private ones too. */
  readonly getValues = this.command(
    'ObjectReference.GetValues',
    (w, object: ObjectId, fields: readonly FieldId[]) => writeFields(w.object(object), fields),
    listOf(readValue),
  )

  readonly setValues = this.command(
    'ObjectReference.SetValues',
    (w, object: ObjectId, values: readonly FieldValue[]) => writeFieldValues(w.object(object), values),
    nothing,
  )

  /** All threads must be suspended. Needs `canGetMonitorInfo`. */
  readonly monitorInfo = this.command(
    'ObjectReference.MonitorInfo',
    ofObject<ObjectId>,
    (r): MonitorInfo => ({
      ...{ owner: r.objectOrNull<ThreadId>(), entryCount: r.int() },
      waiters: r.list(() => r.object<ThreadId>()),
    }),
  )

  /** @param type  whose method it is: the object's class, or one above it */
  invokeMethod(
    object: ObjectId,
    type: TypeId,
    invocation: Invocation,
    options: InvokeOptions = {},
  ): Promise<Result<Invoked>> {
    return this.asker.ask(
      'ObjectReference.InvokeMethod',
      (w) => {
        w.object(object).object(invocation.thread)
        writeArguments(w.id('referenceType', type).id('method', invocation.method), invocation, options)
      },
      readInvoked,
      { ...options, endsIfSilent: true },
    )
  }

  /** It stays even if the program lets go of it, until `enableCollection` or the end of the connection. */
  readonly disableCollection = this.command('ObjectReference.DisableCollection', ofObject<ObjectId>, nothing)

  readonly enableCollection = this.command('ObjectReference.EnableCollection', ofObject<ObjectId>, nothing)

  readonly isCollected = this.command('ObjectReference.IsCollected', ofObject<ObjectId>, boolean)

  /** Objects that refer to it, stacks and JNI left out: walks through the heap. @param most  0: all of them */
  referringObjects(object: ObjectId, most: number, options?: AskOptions): Promise<Result<ObjectValue[]>> {
    return this.asker.ask(
      'ObjectReference.ReferringObjects',
      (w) => w.object(object).int(most),
      listOf(readObject),
      options,
    )
  }
}
