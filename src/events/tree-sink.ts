// Who is told what a look at the trees of threads has found (tree-blocks.ts).

export interface TreeSink {
  /**
   * The context of a method below another one.
   *
   * @param parent  0: it is a root
   */
  contextOf(thread: number, parent: number, method: number): number
  /**
   * It was called so many times more, and has executed so many bytecodes more. Fewer, where a look had read a count that was being
   * written.
   */
  addTo(thread: number, context: number, calls: number, executed: number): void
}
