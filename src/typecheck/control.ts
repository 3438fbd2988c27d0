import type { State } from './state.ts'

/** Where control goes from an instruction: to what is promised there, or to what is inferred there. */
export interface Control {
  /** Control may go from here to `target`, whatever number that is. */
  jump(target: number, state: State): void
  /** The instruction may throw, with the locals as they are now. */
  raise(state: State): void
  /** It is in the range of an exception handler. */
  readonly guarded: boolean
}
