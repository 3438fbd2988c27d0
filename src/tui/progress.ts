// Prints progress to stderr. On a terminal, one line is overwritten. Otherwise, a line is printed only when the phase changes, so that logs
// are short.

import { clean, cut } from './format.ts'

const CLEAR_LINE = '\r\x1b[K'

export interface ProgressOutput {
  readonly isTTY?: boolean
  readonly columns?: number
  /** Number of characters in the output buffer that are not yet written. */
  readonly writableLength?: number
  write(text: string): unknown
}

export interface Progress {
  /** Sets the current phase. Repeating the same phase prints nothing. */
  phase(text: string): void
  /** Shows the progress of the phase. Prints nothing if the output is not a terminal. */
  update(text: string): void
  /** Prints a permanent line. */
  note(text: string): void
  /** Ends the last phase and prints its result. */
  done(text: string): void
  /** Removes the overwritten line before other output. Idempotent. */
  close(): void
}

export function createProgress(
  out: ProgressOutput,
  env: { readonly [name: string]: string | undefined } = process.env,
): Progress {
  const live = out.isTTY === true && env.TERM !== 'dumb'
  let current = ''
  let shown = false
  const close = (): void => {
    if (shown) out.write(CLEAR_LINE)
    shown = false
  }
  const show = (text: string): void => {
    out.write(CLEAR_LINE + cut(clean(text), (out.columns || 80) - 1))
    shown = true
  }
  const note = (text: string): void => {
    const changing = shown
    close()
    out.write(`${clean(text)}\n`)
    if (changing) show(current)
  }
  return {
    phase(text) {
      if (text === current) return
      current = text
      if (live) show(text)
      else out.write(`${clean(text)}\n`)
    },
    update(text) {
      if (!live) return
      current = text
      // While the output is blocked, the update is skipped. A later update replaces it.
      if (!out.writableLength) show(text)
    },
    note,
    done(text) {
      close()
      note(text)
    },
    close,
  }
}
