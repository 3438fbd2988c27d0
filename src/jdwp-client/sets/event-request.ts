// Command set 15, EventRequest: requests events, each request with a suspend policy.

import { nothing } from '../asker.ts'
import {
  EVENT_KINDS,
  type EventKind,
  MODIFIERS,
  STEP_DEPTHS,
  STEP_SIZES,
  type StepDepth,
  type StepSize,
  SUSPEND_POLICIES,
  type SuspendPolicy,
} from '../constants.ts'
import type { DataWriter } from '../data.ts'
import type { FieldId, ObjectId, ThreadId, TypeId } from '../ids.ts'
import { type Location, writeLocation } from '../values.ts'
import { CommandSet, int } from './command-set.ts'

/**
 * A modifier of a request. The JVM applies the modifiers in order: a `Count` before a second modifier also counts events that the second
 * modifier excludes. A pattern is a name, or a name with `*` at its beginning or end: `java.*`, `*.Foo`.
 */
export type Modifier =
  /** Reports only one event: the event with the number `count`, from 1. */
  | { readonly modifier: 'Count'; readonly count: number }
  /** A condition, reserved by the specification. HotSpot accepts this modifier and ignores it. */
  | { readonly modifier: 'Conditional'; readonly expression: number }
  /** Restricts to events in this thread. Not allowed for CLASS_UNLOAD. */
  | { readonly modifier: 'ThreadOnly'; readonly thread: ThreadId }
  /** Restricts to this type and its subtypes: by the prepared type, the type of the monitor's object, or else the type of the location. */
  | { readonly modifier: 'ClassOnly'; readonly type: TypeId }
  | { readonly modifier: 'ClassMatch'; readonly pattern: string }
  | { readonly modifier: 'ClassExclude'; readonly pattern: string }
  /** Restricts to a location. Required for breakpoints; also allowed for field watches, steps and exceptions. */
  | { readonly modifier: 'LocationOnly'; readonly location: Location }
  /** Restricts to exceptions of `type` and its subtypes; null for all exceptions. */
  | {
      readonly modifier: 'ExceptionOnly'
      readonly type: TypeId | null
      readonly caught: boolean
      readonly uncaught: boolean
    }
  /** Restricts to a field. Required for field watches. */
  | { readonly modifier: 'FieldOnly'; readonly type: TypeId; readonly field: FieldId }
  /** Thread, size and depth of a step. Required for steps. A thread can have only one step request at a time. */
  | {
      readonly modifier: 'Step'
      readonly thread: ThreadId
      readonly size: StepSize
      readonly depth: StepDepth
    }
  /** Restricts to events in methods in which `this` is the given object; null restricts to static methods. */
  | { readonly modifier: 'InstanceOnly'; readonly object: ObjectId | null }
  /** Restricts to CLASS_PREPARE of a type with this source name (SourceDebugExtension or SourceFile). */
  | { readonly modifier: 'SourceNameMatch'; readonly pattern: string }
  /** Restricts THREAD_START and THREAD_DEATH to platform threads. JDK 19 and later. */
  | { readonly modifier: 'PlatformThreadsOnly' }

export class EventRequest extends CommandSet {
  /** Requests events. Returns the number of the request: the value of `request` in its events, and the argument of `clear`. */
  readonly set = this.command(
    'EventRequest.Set',
    (w, kind: EventKind, suspendPolicy: SuspendPolicy, modifiers: readonly Modifier[] = []) => {
      w.u1(EVENT_KINDS[kind]).u1(SUSPEND_POLICIES[suspendPolicy])
      w.list(modifiers, (it) => writeModifier(w, it))
    },
    int,
  )

  /** Cancels a request. No effect for an unknown request. */
  readonly clear = this.command(
    'EventRequest.Clear',
    (w, kind: EventKind, request: number) => w.u1(EVENT_KINDS[kind]).int(request),
    nothing,
  )

  readonly clearAllBreakpoints = this.command('EventRequest.ClearAllBreakpoints', nothing, nothing)
}

type Writers = {
  readonly [Name in Modifier['modifier']]: (
    w: DataWriter,
    it: Extract<Modifier, { readonly modifier: Name }>,
  ) => unknown
}

const MODIFIER_WRITERS: Writers = {
  Count: (w, { count }) => w.int(count),
  Conditional: (w, { expression }) => w.int(expression),
  ThreadOnly: (w, { thread }) => w.object(thread),
  ClassOnly: (w, { type }) => w.id('referenceType', type),
  ClassMatch: (w, { pattern }) => w.string(pattern),
  ClassExclude: (w, { pattern }) => w.string(pattern),
  LocationOnly: (w, { location }) => writeLocation(w, location),
  ExceptionOnly: (w, { type, caught, uncaught }) =>
    w.id('referenceType', type).boolean(caught).boolean(uncaught),
  FieldOnly: (w, { type, field }) => w.id('referenceType', type).id('field', field),
  Step: (w, { thread, size, depth }) => w.object(thread).int(STEP_SIZES[size]).int(STEP_DEPTHS[depth]),
  InstanceOnly: (w, { object }) => w.object(object),
  SourceNameMatch: (w, { pattern }) => w.string(pattern),
  PlatformThreadsOnly: nothing,
}

function writeModifier(w: DataWriter, it: Modifier): void {
  const write = MODIFIER_WRITERS[it.modifier] as (w: DataWriter, it: Modifier) => unknown
  write(w.u1(MODIFIERS[it.modifier]), it)
}
