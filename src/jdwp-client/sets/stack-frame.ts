// Command set 16, StackFrame: commands for a frame of a suspended thread.

import { nothing } from '../asker.ts'
import { TAGS, type Tag } from '../constants.ts'
import type { DataWriter } from '../data.ts'
import type { FrameId, ThreadId } from '../ids.ts'
import { readObjectOrNull, readValue, type Value, writeValue } from '../values.ts'
import { CommandSet, listOf } from './command-set.ts'

export class StackFrame extends CommandSet {
  /** Returns the values of these local variables: each is a slot (Method.VariableTable) and the tag of its type, OBJECT for all objects. */
  readonly getValues = this.command(
    'StackFrame.GetValues',
    (w, thread: ThreadId, frame: FrameId, slots: readonly { readonly slot: number; readonly tag: Tag }[]) =>
      ofFrame(w, thread, frame).list(slots, ({ slot, tag }) => w.int(slot).u1(TAGS[tag])),
    listOf(readValue),
  )

  readonly setValues = this.command(
    'StackFrame.SetValues',
    (
      w,
      thread: ThreadId,
      frame: FrameId,
      slots: readonly { readonly slot: number; readonly value: Value }[],
    ) => ofFrame(w, thread, frame).list(slots, ({ slot, value }) => writeValue(w.int(slot), value)),
    nothing,
  )

  /** Returns `this`; null in a static or native method. */
  readonly thisObject = this.command('StackFrame.ThisObject', ofFrame, readObjectOrNull)

  /** Pops this frame and all frames above it. The thread will then repeat the call of the popped method. Needs `canPopFrames`. */
  readonly popFrames = this.command('StackFrame.PopFrames', ofFrame, nothing)
}

function ofFrame(w: DataWriter, thread: ThreadId, frame: FrameId): DataWriter {
  return w.object(thread).id('frame', frame)
}
