// Declares the parts of neo-blessed 0.2.0 that screen.ts uses.

declare module 'neo-blessed' {
  export interface BlessedProgram {
    cols: number
    rows: number
    flush(): void
  }

  export interface BlessedScreen {
    readonly program: BlessedProgram
    readonly width: number
    readonly height: number
    /** `lines`: cells to show, [attribute, character]. `olines`: cells currently on the terminal. */
    lines: (BlessedCell[] & { dirty: boolean })[]
    olines: BlessedCell[][]
    /** Recreates `lines` and `olines`, blank and in the size of the terminal, and clears the terminal. */
    alloc(): void
    draw(start: number, end: number): void
    enter(): void
    leave(): void
    destroy(): void
  }

  export type BlessedCell = [attribute: number, character: string]

  export interface BlessedScreenOptions {
    input: NodeJS.ReadStream
    output: NodeJS.WriteStream
    terminal: string
    forceUnicode: boolean
    fullUnicode: boolean
    warnings: boolean
  }

  const blessed: { screen(options: BlessedScreenOptions): BlessedScreen }
  export default blessed
}
