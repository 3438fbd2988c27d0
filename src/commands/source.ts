// Content of the live view: a file, a local session, a session on another machine, a sampled JVM, or several JVMs. All sources except a
// file are still recording. `record`, `attach` and `run` use this interface. Each command imports a source module only when needed.
// `attach`, `run` and `open` share one screen (`view.ts`).

import type { JfluidError } from '../base/errors.ts'
import type { Profile } from '../profile/profile.ts'
import type { SourceFolders } from '../profile/source-folders.ts'
import type { SessionStatus } from '../session/session.ts'
import type { Leave } from '../tui/app.ts'
import type { Progress } from '../tui/progress.ts'
import type { Screen } from '../tui/screen.ts'
import type { Saved } from './autosave.ts'
import type { Kept } from './outcome.ts'
import type { StopSignal } from './signals.ts'

export interface Source {
  /** Loads the view before the screen is opened. @param sources  folders of --source */
  drawn(sources?: SourceFolders): Promise<Show>
}

/**
 * Shows the source until the user leaves.
 *
 * @param out  file for the profile; null if there is none
 */
type Show = (screen: Screen, out: string | null) => Promise<Leave>

export interface RecordedSource extends Source {
  /** Resolves with the reason when the recording ends other than by `finish`. */
  readonly ended: Promise<string>
  /** Object for autosaves; absent if each JVM of a group has its own autosave. */
  readonly saved?: Saved
  /** Name of the profile in the message "… written to …". */
  readonly called: 'profile' | 'profile of all'
  /** Name of the phase after the start, if it is printed. */
  readonly phase?: string
  /** Interval between two `status` calls. */
  readonly everyMs: number
  /** Returns a line about the progress; null if nothing has changed. */
  status(): Promise<string | null>
  /** Returns lines that describe the matches of the user's patterns. */
  matches(): readonly string[]
  /** Reports messages during the recording. Returns a function that stops the reports. */
  tellMessages(tell: (line: string) => void): () => void
  /** @param tell  receives the name of each phase */
  finish(tell: (line: string) => void): Promise<SourceResult>
  /** Error to report after `finish`; null if there is none. */
  outcome(signal: NodeJS.Signals | null, kept: Kept): Promise<JfluidError | null>
  /** Closes the source. Called last. */
  leave?(): Promise<unknown>
}

export interface SourceResult {
  readonly profile: Profile
  /** Lines that describe how the session left the target. */
  readonly described: readonly string[]
  /** Paths of the profiles of several JVMs. */
  readonly parts?: readonly string[]
}

/** Context for starting a recording. */
export interface StartContext {
  readonly progress: Progress
  /** Whether the recording is shown in a live view. Messages to `tell` are then printed after the view. */
  readonly isShown: boolean
  readonly tell: (line: string) => void
  /** Returns the messages given to `tell` since the last call. */
  untold(): readonly string[]
  /**
   * Must be called when the JVM is known, before anything in the JVM is touched.
   *
   * @param number  for file names: the process id, or the port
   */
  found(number: number): Promise<void>
  /** Returns the stop signal. After the first call, a signal no longer ends the process directly. */
  stop(): StopSignal
}

/** Starts a recording from checked flags. Returns null if the start was cancelled; a message has been printed then. */
export type Way = (context: StartContext) => Promise<RecordedSource | null>

type Counts = Pick<SessionStatus, 'events' | 'instrumentedMethods' | 'calledMethods'>

export function countsText({ events, instrumentedMethods, calledMethods }: Counts): string {
  return `${events} events  ${instrumentedMethods} methods instrumented, ${calledMethods} called`
}
