// Command set 15, EventRequest: which events the JVM is to tell, and whom they suspend.

import { type Asker, nothing } from '../asker.ts'
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
import type { Result } from '../errors.ts'
import type { FieldId, ObjectId, ThreadId, TypeId } from '../ids.ts'
import { type Location, writeLocation } from '../values.ts'

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

export class EventRequest {
  constructor(private readonly asker: Asker) {}

  /**
   * Asks for events.
   *
   * @returns the number of the request: `request` of its events, and what `clear` wants
   */
  set(
    kind: EventKind,
    suspendPolicy: SuspendPolicy,
    modifiers: readonly Modifier[] = [],
  ): Promise<Result<number>> {
    return this.asker.ask(
      'EventRequest.Set',
      (w) =>
        w
          .u1(EVENT_KINDS[kind])
          .u1(SUSPEND_POLICIES[suspendPolicy])
          .list(modifiers, (it) => writeModifier(w, it)),
      (r) => r.int(),
    )
  }

  /** Takes a request back; one that is not there is none. */
  clear(kind: EventKind, request: number): Promise<Result<void>> {
    return this.asker.ask('EventRequest.Clear', (w) => w.u1(EVENT_KINDS[kind]).int(request), nothing)
  }

  clearAllBreakpoints(): Promise<Result<void>> {
    return this.asker.ask('EventRequest.ClearAllBreakpoints', nothing, nothing)
  }
}

function writeModifier(w: DataWriter, it: Modifier): void {
  w.u1(MODIFIERS[it.modifier])
  switch (it.modifier) {
    case 'Count':
      w.int(it.count)
      break
    case 'Conditional':
      w.int(it.expression)
      break
    case 'ThreadOnly':
      w.object(it.thread)
      break
    case 'ClassOnly':
      w.id('referenceType', it.type)
      break
    case 'ClassMatch':
    case 'ClassExclude':
    case 'SourceNameMatch':
      w.string(it.pattern)
      break
    case 'LocationOnly':
      writeLocation(w, it.location)
      break
    case 'ExceptionOnly':
      w.id('referenceType', it.type).boolean(it.caught).boolean(it.uncaught)
      break
    case 'FieldOnly':
      w.id('referenceType', it.type).id('field', it.field)
      break
    case 'Step':
      w.object(it.thread).int(STEP_SIZES[it.size]).int(STEP_DEPTHS[it.depth])
      break
    case 'InstanceOnly':
      w.object(it.object)
      break
    case 'PlatformThreadsOnly':
      break
  }
}
