// Events sent by the JVM (Event.Composite). Simultaneous events are in one set, which has one suspend policy.
//
// Fields have the names of the specification, except `request`, which is the number returned by
// EventRequest.Set, or 0 for automatic events (VM_START, VM_DEATH).

import type { TypeTag } from './constants.ts'
import { EVENT_KINDS, type EventKind, namesOf, SUSPEND_POLICIES, type SuspendPolicy } from './constants.ts'
import type { DataReader } from './data.ts'
import { MalformedJdwp } from './errors.ts'
import type { FieldId, ThreadId, TypeId } from './ids.ts'
import * as values from './values.ts'

export interface Requested {
  readonly request: number
}

export interface InThread extends Requested {
  readonly thread: ThreadId
}

export interface AtLocation extends InThread {
  readonly location: values.Location
}

export interface AtMonitor extends AtLocation {
  /** Object whose monitor is entered or waited for. */
  readonly object: values.ObjectValue
}

export interface AtField extends AtLocation {
  readonly kindOfType: TypeTag
  /** Class that declares the field. */
  readonly type: TypeId
  readonly field: FieldId
  /** Object of the field; null for a static field. */
  readonly object: values.TaggedObject | null
}

/** Fields of an event, keyed by the kind of the event. */
export interface EventBodies {
  readonly VM_START: InThread
  readonly VM_DEATH: Requested
  readonly THREAD_START: InThread
  readonly THREAD_DEATH: InThread
  readonly SINGLE_STEP: AtLocation
  readonly BREAKPOINT: AtLocation
  readonly METHOD_ENTRY: AtLocation
  readonly METHOD_EXIT: AtLocation
  readonly METHOD_EXIT_WITH_RETURN_VALUE: AtLocation & { readonly value: values.Value }
  readonly MONITOR_CONTENDED_ENTER: AtMonitor
  readonly MONITOR_CONTENDED_ENTERED: AtMonitor
  /** The field `timeout` is the argument of `Object.wait`, ms; 0 means no timeout. */
  readonly MONITOR_WAIT: AtMonitor & { readonly timeout: bigint }
  readonly MONITOR_WAITED: AtMonitor & { readonly timedOut: boolean }
  readonly EXCEPTION: AtLocation & {
    readonly exception: values.ObjectValue
    /** Location of the handler that will catch the exception; null if no handler is known yet. */
    readonly catchLocation: values.Location | null
  }
  readonly CLASS_PREPARE: Requested & {
    /** Thread that prepared the class. Null for a thread of the debugger agent: the JVM then suspends all threads, not only this thread. */
    readonly thread: ThreadId | null
    readonly kindOfType: TypeTag
    readonly type: TypeId
    readonly signature: string
    /** Status of the class: bits of STATUS_…. */
    readonly status: number
  }
  /** The event contains neither an id of the unloaded class nor a thread. */
  readonly CLASS_UNLOAD: Requested & { readonly signature: string }
  readonly FIELD_ACCESS: AtField
  readonly FIELD_MODIFICATION: AtField & { readonly valueToBe: values.Value }
}

/** An event of one of these kinds, discriminated by `kind`. */
export type EventOf<K extends EventKind> = K extends EventKind ? { readonly kind: K } & EventBodies[K] : never
export type JdwpEvent = EventOf<EventKind>

/** An event of an unknown kind. Its length is unknown, so the events after it in the same set are lost. */
export interface UnknownEvent {
  readonly kind: 'UNKNOWN'
  readonly code: number
  readonly data: Buffer
}

/** Simultaneous events. The JVM suspends threads once for the whole set, so the set needs one resume. */
export interface EventSet {
  /** Names the threads that the JVM has suspended for this set. */
  readonly suspendPolicy: SuspendPolicy
  readonly events: readonly (JdwpEvent | UnknownEvent)[]
}

const KIND_NAMES = namesOf(EVENT_KINDS)
const POLICY_NAMES = namesOf(SUSPEND_POLICIES)

/** @throws MalformedJdwp */
export function readEventSet(r: DataReader): EventSet {
  const policy = r.u1()
  const suspendPolicy = POLICY_NAMES.get(policy)
  if (suspendPolicy === undefined) throw new MalformedJdwp(`a suspend policy of ${policy}`)
  const events: (JdwpEvent | UnknownEvent)[] = []
  for (let left = r.count(); left > 0; left--) {
    const code = r.u1()
    const kind = KIND_NAMES.get(code)
    if (kind === undefined) {
      events.push({ kind: 'UNKNOWN', code, data: r.bytes(r.left) })
      break
    }
    events.push(readEvent(r, kind))
  }
  return { suspendPolicy, events }
}

function readEvent(r: DataReader, kind: EventKind): JdwpEvent {
  const request = r.int()
  switch (kind) {
    case 'VM_DEATH':
      return { kind, request }
    case 'CLASS_UNLOAD':
      return { kind, request, signature: r.string() }
    case 'CLASS_PREPARE':
      return {
        ...{ kind, request, thread: r.objectOrNull<ThreadId>() },
        kindOfType: values.readTypeTag(r),
        type: r.id('referenceType'),
        ...{ signature: r.string(), status: r.int() },
      }
    case 'VM_START':
    case 'THREAD_START':
    case 'THREAD_DEATH':
      return { kind, request, thread: r.object<ThreadId>() }
    case 'SINGLE_STEP':
    case 'BREAKPOINT':
    case 'METHOD_ENTRY':
    case 'METHOD_EXIT':
      return { kind, ...readPlace(r, request) }
    case 'METHOD_EXIT_WITH_RETURN_VALUE':
      return { kind, ...readPlace(r, request), value: values.readValue(r) }
    case 'MONITOR_CONTENDED_ENTER':
    case 'MONITOR_CONTENDED_ENTERED':
      return { kind, ...readMonitor(r, request) }
    case 'MONITOR_WAIT':
      return { kind, ...readMonitor(r, request), timeout: r.long() }
    case 'MONITOR_WAITED':
      return { kind, ...readMonitor(r, request), timedOut: r.boolean() }
    case 'EXCEPTION':
      return {
        ...{ kind, ...readPlace(r, request) },
        exception: values.readObject(r),
        catchLocation: values.readLocationOrNull(r),
      }
    case 'FIELD_ACCESS':
      return { kind, ...readField(r, request) }
    case 'FIELD_MODIFICATION':
      return { kind, ...readField(r, request), valueToBe: values.readValue(r) }
  }
}

function readPlace(r: DataReader, request: number): AtLocation {
  return { request, thread: r.object<ThreadId>(), location: values.readLocation(r) }
}

function readMonitor(r: DataReader, request: number): AtMonitor {
  // In events of monitors the object precedes the location; in an EXCEPTION event the object follows the location.
  const [thread, object] = [r.object<ThreadId>(), values.readObject(r)]
  return { request, thread, object, location: values.readLocation(r) }
}

function readField(r: DataReader, request: number): AtField {
  return {
    ...readPlace(r, request),
    kindOfType: values.readTypeTag(r),
    type: r.id('referenceType'),
    field: r.id('field'),
    object: values.readObjectOrNull(r),
  }
}

/** Returns the thread that a set with policy EVENT_THREAD has suspended. */
export function threadOf({ events }: EventSet): ThreadId | null {
  for (const event of events) if ('thread' in event && event.thread !== null) return event.thread
  return null
}
