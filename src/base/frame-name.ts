/** Frame of a stack trace. It does not distinguish overloads. */
export interface FrameName {
  /** Class name with dots. */
  readonly className: string
  readonly method: string
}
