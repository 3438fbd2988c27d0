/** Class and method of a stack frame. Overloads of a method have the same name. */
export interface FrameName {
  /** Class name with dots. */
  readonly className: string
  readonly method: string
}
