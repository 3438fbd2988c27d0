// Command set 9, ObjectReference: commands for all objects.

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
  /** Thread that owns the monitor; null if no thread owns it. */
  readonly owner: ThreadId | null
  /** Number of times that the owner has entered the monitor. */
  readonly entryCount: number
  /** Threads that wait to enter the monitor, and threads in `Object.wait` of this object. */
  readonly waiters: readonly ThreadId[]
}

export class ObjectReference extends CommandSet {
  /** Returns the class or array type of the object. */
  readonly referenceType = this.command('ObjectReference.ReferenceType', ofObject<ObjectId>, readType)

  /** Returns the values of instance fields, in the order of the given ids. Private fields are allowed. */
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

  /** Returns the monitor's state. All threads must be suspended. Needs `canGetMonitorInfo`. */
  readonly monitorInfo = this.command(
    'ObjectReference.MonitorInfo',
    ofObject<ObjectId>,
    (r): MonitorInfo => ({
      ...{ owner: r.objectOrNull<ThreadId>(), entryCount: r.int() },
      waiters: r.list(() => r.object<ThreadId>()),
    }),
  )

  /** Invokes an instance method. @param type  class that declares the method: the object's class or a superclass */
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

  /** Keeps the object alive until `enableCollection` or the end of the connection, even if the program drops it. */
  readonly disableCollection = this.command('ObjectReference.DisableCollection', ofObject<ObjectId>, nothing)

  readonly enableCollection = this.command('ObjectReference.EnableCollection', ofObject<ObjectId>, nothing)

  readonly isCollected = this.command('ObjectReference.IsCollected', ofObject<ObjectId>, boolean)

  /** Returns objects whose fields refer to this object. Walks the heap. @param most  maximum number; 0 for all */
  referringObjects(object: ObjectId, most: number, options?: AskOptions): Promise<Result<ObjectValue[]>> {
    return this.asker.ask(
      'ObjectReference.ReferringObjects',
      (w) => w.object(object).int(most),
      listOf(readObject),
      options,
    )
  }
}
