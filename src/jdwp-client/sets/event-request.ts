// Command set 15, EventRequest: which events the JVM is to tell, and whom they suspend.

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
 * A restriction of a request. They are applied in their order: a `Count` before another counts what the other would
 * have left out. Patterns are a name, or a name with `*` at its beginning or end: `java.*`, `*.Foo`.
 */
export type Modifier =
  /** Tells the nth event, once, and no other. */
  | { readonly modifier: 'Count'; readonly count: number }
  /** The specification's, for the future. HotSpot takes it, and it restricts nothing. */
  | { readonly modifier: 'Conditional'; readonly expression: number }
  /** Not of CLASS_UNLOAD. */
  | { readonly modifier: 'ThreadOnly'; readonly thread: ThreadId }
  /** This type and its subtypes: the prepared one, that of the monitor's object, or that of the location. */
  | { readonly modifier: 'ClassOnly'; readonly type: TypeId }
  | { readonly modifier: 'ClassMatch'; readonly pattern: string }
  | { readonly modifier: 'ClassExclude'; readonly pattern: string }
  /** Breakpoints (which need it), field watches, steps, exceptions. */
  | { readonly modifier: 'LocationOnly'; readonly location: Location }
  /** `type` and its subtypes; null: all exceptions. */
  | {
      readonly modifier: 'ExceptionOnly'
      readonly type: TypeId | null
      readonly caught: boolean
      readonly uncaught: boolean
    }
  /** Field watches need it. */
  | { readonly modifier: 'FieldOnly'; readonly type: TypeId; readonly field: FieldId }
  /** Steps need it. One at a time in a thread. */
  | {
      readonly modifier: 'Step'
      readonly thread: ThreadId
      readonly size: StepSize
      readonly depth: StepDepth
    }
  /** Where `this` is the object; null: static methods. */
  | { readonly modifier: 'InstanceOnly'; readonly object: ObjectId | null }
  /** CLASS_PREPARE of a type with such a source (SourceDebugExtension or SourceFile). */
  | { readonly modifier: 'SourceNameMatch'; readonly pattern: string }
  /** THREAD_START and THREAD_DEATH. JDK 19 and later. */
  | { readonly modifier: 'PlatformThreadsOnly' }

export class EventRequest extends CommandSet {
  /** Asks for events. The number of the request comes back: `request` of its events, and what `clear` wants. */
  readonly set = this.command(
    'EventRequest.Set',
    (w, kind: EventKind, suspendPolicy: SuspendPolicy, modifiers: readonly Modifier[] = []) => {
      w.u1(EVENT_KINDS[kind]).u1(SUSPEND_POLICIES[suspendPolicy])
      w.list(modifiers, (it) => writeModifier(w, it))
    },
    int,
  )

  /** Takes a request back; one that is not there is none. */
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
