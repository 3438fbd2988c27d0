// Progress of headless work on stderr: on a terminal one line that is overwritten; elsewhere a line
// when the phase changes, so that a log stays short.

import { clean, cut } from './format.ts'

const CLEAR_LINE = '\r\x1b[K'

export interface ProgressOutput {
  readonly isTTY?: boolean
  readonly columns?: number
  /** Of what was written, what it has not taken yet. */
  readonly writableLength?: number
  write(text: string): unknown
}

export interface Progress {
  /** What is being done now. The same phase again says nothing. */
  phase(text: string): void
  /** How far it is; seen on a terminal only. */
  update(text: string): void
  /** A line that stays. */
  note(text: string): void
  /** The last phase is over, with this result. */
  done(text: string): void
  /** Removes the line that changes, so that others may write. Again does nothing. */
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
      // Where nobody reads, the next one says more.
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
