// Interface through which the live view changes a running session: roots, exclusions, additions.

/** Scope of an exclusion: the method of a row, its class, or its package. */
export type Extent = 'method' | 'class' | 'package'

/** Exclusion or addition made by the user. */
export interface ByHandRow {
  readonly what: 'exclude' | 'add'
  /** Text as typed by the user, or derived from a row. */
  readonly text: string
  /** Time since the start of the recording. */
  readonly atMs: number
  /** Number of matching methods. `below`: number of other methods that lost their probes, since only matching methods reach them. */
  readonly methods: number
  readonly below: number
}

export interface Steering {
  /** Number of root changes. Method and node ids are valid within one generation. */
  readonly generation: number
  /** Returns the text of a row's method, class or package for `changeRoot` and `leaveOut`, or null. */
  textOf(id: number, extent: Extent): string | null
  /** Returns whether the user excluded the method of a row. */
  isLeftOut(id: number): boolean
  /** Exclusions and additions made by the user, newest last. */
  readonly byHand: readonly ByHandRow[]
  /**
   * Each method below resolves with a message for the user.
   *
   * @throws Error with a message for the user. After an error, either nothing has changed, or `generation` has increased: the recording of
   *   the old roots has restarted from zero, and the message names the file with the earlier data
   */
  changeRoot(text: string, onPhase: (phase: string) => void): Promise<string>
  leaveOut(text: string): Promise<string>
  add(text: string): Promise<string>
  /** Returns the estimated overhead of timing a method, as text for the end of the confirmation question. */
  costToTime(text: string): Promise<string>
  time(text: string): Promise<string>
  takeBack(text: string): Promise<string>
}
