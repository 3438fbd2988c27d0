/** A frame as a stack trace has it: overloads are not told apart. */
export interface FrameName {
  /** With dots. */
  readonly className: string
  readonly method: string
}
