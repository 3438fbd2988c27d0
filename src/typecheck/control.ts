import type { State } from './state.ts'

/** Receives each path out of an instruction. Checks the types on this path against declared frames, or merges them into inferred frames. */
export interface Control {
  /** Control may flow from the current instruction to `target`. `target` may be an invalid bci. */
  jump(target: number, state: State): void
  /** The current instruction may throw an exception. A handler then sees the current locals. */
  raise(state: State): void
  /** Whether the current instruction is in the range of an exception handler. */
  readonly guarded: boolean
}
