// The port of the live view to what can be changed while a session runs: its roots, what is left out, and what is added.

/** How much of it, starting from a row. */
export type Extent = 'method' | 'class' | 'package'

/** Something that is left out by hand, or added. */
export interface ByHandRow {
  readonly what: 'exclude' | 'add'
  /** As it was typed, or taken from a row. */
  readonly text: string
  /** From when recording began. */
  readonly atMs: number
  /** Methods that match; those whose probes are out, too, because only they had led to them. */
  readonly methods: number
  readonly below: number
}

export interface Steering {
  /** How often the roots have been changed: ids of methods and nodes are those of one generation. */
  readonly generation: number
  /** A row's method, its class or its package, as `changeRoot` and `leaveOut` take them; null where there is none. */
  textOf(id: number, extent: Extent): string | null
  /** Whether the method of a row has no probes because it is left out by hand. */
  isLeftOut(id: number): boolean
  /** Newest last. */
  readonly byHand: readonly ByHandRow[]
  /**
   * Each resolves with what to tell the user.
   *
   * @throws Error whose message the user is shown; nothing has changed then, or `generation` has: the old roots are
   *   recorded from zero, and the message says where what came before is
   */
  changeRoot(text: string, onPhase: (phase: string) => void): Promise<string>
  leaveOut(text: string): Promise<string>
  add(text: string): Promise<string>
  /** What exact times of a method will cost, for the user; the question that asks whether it is to have them ends with it. */
  costToTime(text: string): Promise<string>
  time(text: string): Promise<string>
  takeBack(text: string): Promise<string>
}
