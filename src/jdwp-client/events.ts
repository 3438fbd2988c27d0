// What a JVM tells by itself (Event.Composite): events that happened at the same moment, in one set with one policy.
//
// The members are named as the specification names them, but for `request`: the number that
// EventRequest.Set gave, 0 where nobody asked (VM_START, VM_DEATH).

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
  /** Whose monitor it is. */
  readonly object: values.ObjectValue
}

export interface AtField extends AtLocation {
  readonly kindOfType: TypeTag
  /** Which declares the field. */
  readonly type: TypeId
  readonly field: FieldId
  /** null: a static field. */
  readonly object: values.TaggedObject | null
}

/** What an event of each kind tells. */
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
  /** `timeout` in ms as `Object.wait` was given it; 0: none. */
  readonly MONITOR_WAIT: AtMonitor & { readonly timeout: bigint }
  readonly MONITOR_WAITED: AtMonitor & { readonly timedOut: boolean }
  readonly EXCEPTION: AtLocation & {
    readonly exception: values.ObjectValue
    /** null: nothing catches it, as far as can be known when it is thrown. */
    readonly catchLocation: values.Location | null
  }
  readonly CLASS_PREPARE: Requested & {
    /** null: a thread of the debugger's own agent. Then all threads are suspended where only that one should be. */
    readonly thread: ThreadId | null
    readonly kindOfType: TypeTag
    readonly type: TypeId
    readonly signature: string
    /** STATUS_ bits. */
    readonly status: number
  }
  /** It has no id any more, and no thread. */
  readonly CLASS_UNLOAD: Requested & { readonly signature: string }
  readonly FIELD_ACCESS: AtField
  readonly FIELD_MODIFICATION: AtField & { readonly valueToBe: values.Value }
}

/** An event of one kind, or of one of several: `kind` tells them apart. */
export type EventOf<K extends EventKind> = K extends EventKind ? { readonly kind: K } & EventBodies[K] : never
export type JdwpEvent = EventOf<EventKind>

/** Of a kind that we do not know, so it cannot be told where it ends: it is the last of its set, whatever came behind it. */
export interface UnknownEvent {
  readonly kind: 'UNKNOWN'
  readonly code: number
  readonly data: Buffer
}

/** Events of one moment: it is the set that suspends, and a resume is due for the set, not for each event of it. */
export interface EventSet {
  /** Whom it has suspended. */
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
        ...{ kindOfType: values.readTypeTag(r), type: r.id('referenceType') },
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
        ...{ exception: values.readObject(r), catchLocation: values.readLocationOrNull(r) },
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
  // The object stands before the location here, behind it in an EXCEPTION.
  const [thread, object] = [r.object<ThreadId>(), values.readObject(r)]
  return { request, thread, object, location: values.readLocation(r) }
}

function readField(r: DataReader, request: number): AtField {
  return {
    ...readPlace(r, request),
    ...{ kindOfType: values.readTypeTag(r), type: r.id('referenceType'), field: r.id('field') },
    object: values.readObjectOrNull(r),
  }
}

/** The thread that an event set has suspended by itself, where its policy is EVENT_THREAD. */
export function threadOf({ events }: EventSet): ThreadId | null {
  for (const event of events) if ('thread' in event && event.thread !== null) return event.thread
  return null
}
