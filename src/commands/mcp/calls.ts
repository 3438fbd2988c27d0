// Running calls of tools: at most one call at a time uses a JVM or reads profiles, and all calls can be ended.

import { EX_TEMPFAIL, JfluidError } from '../../base/errors.ts'
import { clean } from '../../profile/text.ts'
import type { Progress } from '../../tui/progress.ts'
import type { StopSignal } from '../signals.ts'

/**
 * Another call is running. While this process records, reading a large profile would delay the answers for which threads of the JVM wait.
 */
export class OtherCallRuns extends JfluidError {
  static sample = () => new OtherCallRuns('record')
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Wait until the other call has ended, or cancel it.'
  constructor(other: string) {
    super(`the tool ${other} is running, and jfluid mcp runs one call at a time`)
  }
}

/** What a tool can use while it runs. */
export interface CallContext {
  /** Sends each phase to the client. */
  readonly progress: Progress
  /** The signal that ends a recording early. */
  readonly stop: StopSignal
  /** Messages so far, in order: warnings, matches, and how the JVM was left. */
  readonly notes: readonly string[]
}

/** Origin of a call. */
export interface Caller {
  /** Receives the messages of the call. */
  readonly notes: string[]
  /** Aborted if the client cancels the call. */
  readonly cancelled: AbortSignal
  /** Sends a text to the client, if the client wants progress. */
  readonly inform: (text: string) => void
}

export class Calls {
  #running: { readonly name: string; readonly stop: Stop; readonly done: Promise<unknown> } | undefined
  #ended: NodeJS.Signals | undefined

  /**
   * Runs a tool.
   *
   * @param isAlone  whether the call may not run beside others
   * @throws OtherCallRuns, and errors of the tool
   */
  async run<T>(
    name: string,
    isAlone: boolean,
    { notes, cancelled, inform }: Caller,
    tool: (context: CallContext) => Promise<T>,
  ): Promise<T> {
    // A cancelled call ends by itself: it only has to leave its JVM.
    if (isAlone && this.#running?.stop.signal != null) await this.#running.done.catch(() => {})
    if (isAlone && this.#running !== undefined) throw new OtherCallRuns(this.#running.name)
    const stop = new Stop()
    // Ctrl-C is the normal end of a recording: the profile is written.
    const cancel = (): void => stop.fire('SIGINT')
    if (cancelled.aborted) cancel()
    cancelled.addEventListener('abort', cancel)
    if (this.#ended !== undefined) stop.fire(this.#ended)
    const done = tool({ progress: progressOf(inform, notes), stop, notes })
    if (isAlone) this.#running = { name, stop, done }
    try {
      return await done
    } finally {
      if (isAlone) this.#running = undefined
      cancelled.removeEventListener('abort', cancel)
    }
  }

  /** Ends the running call, and all later calls at their start. Resolves when the call has left its JVM. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#ended = signal
    this.#running?.stop.fire(signal)
    await this.#running?.done.catch(() => {}) // the error is the answer of the call
  }
}

/** A stop signal that this process sends to one of its own calls. */
class Stop implements StopSignal {
  readonly fired: Promise<NodeJS.Signals>
  signal: NodeJS.Signals | null = null
  readonly #stopped = new AbortController()
  readonly aborted = this.#stopped.signal
  #resolve: (signal: NodeJS.Signals) => void = () => {}
  #instead: (() => void) | null = null

  constructor() {
    this.fired = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  fire(signal: NodeJS.Signals): void {
    this.#instead?.()
    this.#instead = null
    this.signal ??= signal
    this.#resolve(signal)
    this.#stopped.abort(signal)
  }

  instead(handler: (() => void) | null): void {
    this.#instead = handler
  }

  /** A call ends soon after its parts, so a part needs no signal of its own. */
  part(): StopSignal {
    return this
  }

  dispose(): void {}
}

function progressOf(inform: (text: string) => void, notes: string[]): Progress {
  let last = ''
  const tell = (text: string): void => {
    if (text !== last) inform(clean(text))
    last = text
  }
  const note = (text: string): void => {
    notes.push(clean(text))
    tell(text)
  }
  return { phase: tell, update: tell, note, done: note, close: () => {} }
}
