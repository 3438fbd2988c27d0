import type { State } from './state.ts'

/** Receives the control flow out of an instruction, and checks it against declared frames or merges it into inferred frames. */
export interface Control {
  /** Control may flow from here to `target`, which may be any number. */
  jump(target: number, state: State): void
  /** The instruction may throw, with the current locals. */
  raise(state: State): void
  /** Whether the instruction is in the range of an exception handler. */
  readonly guarded: boolean
}
