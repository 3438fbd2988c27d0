// Command set 16, StackFrame: an activation of a suspended thread.

import { nothing } from '../asker.ts'
import { TAGS, type Tag } from '../constants.ts'
import type { DataWriter } from '../data.ts'
import type { FrameId, ThreadId } from '../ids.ts'
import { readObjectOrNull, readValue, type Value, writeValue } from '../values.ts'
import { CommandSet, listOf } from './command-set.ts'

export class StackFrame extends CommandSet {
  /** Local variables by their slots (Method.VariableTable), in this order; with the tag of the variable's type: OBJECT for all objects. */
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

  /** null: of a static or a native method. */
  readonly thisObject = this.command('StackFrame.ThisObject', ofFrame, readObjectOrNull)

  /** Takes this frame and those above it away: the thread stands before the call again. Needs `canPopFrames`. */
  readonly popFrames = this.command('StackFrame.PopFrames', ofFrame, nothing)
}

function ofFrame(w: DataWriter, thread: ThreadId, frame: FrameId): DataWriter {
  return w.object(thread).id('frame', frame)
}
