// What the live view shows: a file, a session here, one on another machine, a sampled JVM, several JVMs. All but a file are recorded
// meanwhile. `record`, `attach` and `run` each have one course, which asks this, and imports what is for one of them only when it is that
// one; `attach`, `run` and `open` have one screen (`view.ts`).

import type { JfluidError } from '../base/errors.ts'
import type { Profile } from '../profile/profile.ts'
import type { SessionStatus } from '../session/session.ts'
import type { Leave } from '../tui/app.ts'
import type { Progress } from '../tui/progress.ts'
import type { Screen } from '../tui/screen.ts'
import type { Saved } from './autosave.ts'
import type { Kept } from './outcome.ts'
import type { StopSignal } from './signals.ts'
import type { RecordingStream } from './stream/recording-stream.ts'

export interface Source {
  /** Reads what draws it, before there is a screen. */
  drawn(): Promise<Show>
}

/**
 * Until the user leaves.
 *
 * @param out  where the profile goes; null for nowhere
 */
type Show = (screen: Screen, out: string | null) => Promise<Leave>

export interface RecordedSource extends Source {
  /** Resolves with the reason when the recording ends otherwise than by `finish`. */
  readonly ended: Promise<string>
  /** What is saved now and then; absent where each of several is by itself. */
  readonly saved?: Saved
  /** What the profile is called where it has been written. */
  readonly called: 'profile' | 'profile of all'
  /** What is done once it has begun, where that is said. */
  readonly phase?: string
  readonly stream?: RecordingStream | null
  /** From one `status` to the next. */
  readonly everyMs: number
  /** How far it is; null if there is nothing new. */
  status(): Promise<string | null>
  /** What the patterns matched. */
  matches(): readonly string[]
  /** Tells what there is to say while it goes on. Stop it with the result. */
  tellMessages(tell: (line: string) => void): () => void
  /** @param tell  told what is waited for */
  finish(tell: (line: string) => void): Promise<SourceResult>
  /** After `finish`: the one thing to tell, null if all is as it was asked for. */
  outcome(signal: NodeJS.Signals | null, kept: Kept): Promise<JfluidError | null>
  /** After all of that. */
  leave?(): Promise<unknown>
}

export interface SourceResult {
  readonly profile: Profile
  /** How the target was left. */
  readonly described: readonly string[]
  /** Where the profiles of several are. */
  readonly parts?: readonly string[]
}

/** What a command gives, and is asked for, while a recording begins. */
export interface StartContext {
  readonly progress: Progress
  /** What is recorded is shown: what `tell` is told is said after that. */
  readonly isShown: boolean
  readonly tell: (line: string) => void
  /** What `tell` was given since the last call. */
  untold(): readonly string[]
  /**
   * The JVM is known, and nothing in it has been touched.
   *
   * @param number  for names of files: its process, or its port
   */
  found(number: number): Promise<void>
  /** From the first call on, a signal does not end us. */
  stop(): StopSignal
}

/** From flags that are right to a recording that goes on; null if it is not to be any more, which has been said. */
export type Way = (context: StartContext) => Promise<RecordedSource | null>

type Counts = Pick<SessionStatus, 'events' | 'instrumentedMethods' | 'calledMethods'>

export function countsText({ events, instrumentedMethods, calledMethods }: Counts): string {
  return `${events} events  ${instrumentedMethods} methods instrumented, ${calledMethods} called`
}
