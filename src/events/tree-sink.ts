// Receives the results of a scan of the threads' trees (tree-blocks.ts).

export interface TreeSink {
  /**
   * Returns the context of a method below another context.
   *
   * @param parent  0 for a root
   */
  contextOf(thread: number, parent: number, method: number): number
  /** Adds calls and executed bytecodes to a context. A number is negative if an earlier scan read a torn count. */
  addTo(thread: number, context: number, calls: number, executed: number): void
}
