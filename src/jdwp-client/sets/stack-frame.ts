// Command set 16, StackFrame: an activation of a suspended thread.

import { type Asker, nothing } from '../asker.ts'
import { TAGS, type Tag } from '../constants.ts'
import type { Result } from '../errors.ts'
import type { FrameId, ThreadId } from '../ids.ts'
import { readObjectOrNull, readValue, type TaggedObject, type Value, writeValue } from '../values.ts'

export class StackFrame {
  constructor(private readonly asker: Asker) {}

  /**
   * Local variables by their slots (Method.VariableTable), in this order.
   *
   * @param slots  with the tag of the variable's type: OBJECT for all objects
   */
  getValues(
    thread: ThreadId,
    frame: FrameId,
    slots: readonly { readonly slot: number; readonly tag: Tag }[],
  ): Promise<Result<Value[]>> {
    return this.asker.ask(
      'StackFrame.GetValues',
      (w) =>
        w
          .object(thread)
          .id('frame', frame)
          .list(slots, ({ slot, tag }) => w.int(slot).u1(TAGS[tag])),
      (r) => r.list(() => readValue(r)),
    )
  }

  setValues(
    thread: ThreadId,
    frame: FrameId,
    slots: readonly { readonly slot: number; readonly value: Value }[],
  ): Promise<Result<void>> {
    return this.asker.ask(
      'StackFrame.SetValues',
      (w) =>
        w
          .object(thread)
          .id('frame', frame)
          .list(slots, ({ slot, value }) => writeValue(w.int(slot), value)),
      nothing,
    )
  }

  /** null: of a static or a native method. */
  thisObject(thread: ThreadId, frame: FrameId): Promise<Result<TaggedObject | null>> {
    return this.asker.ask(
      'StackFrame.ThisObject',
      (w) => w.object(thread).id('frame', frame),
      readObjectOrNull,
    )
  }

  /** Takes this frame and those above it away: the thread stands before the call again. Needs `canPopFrames`. */
  popFrames(thread: ThreadId, frame: FrameId): Promise<Result<void>> {
    return this.asker.ask('StackFrame.PopFrames', (w) => w.object(thread).id('frame', frame), nothing)
  }
}
