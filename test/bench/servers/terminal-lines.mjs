// @ts-check
// Converts jfluid's output on a terminal to events. Only this file contains the texts of the progress.

/** Matches `7/60 s  1234 events  56 methods instrumented, 7 called`. */
const PROGRESS = /^(\d+)\/\d+ s +(\d+) events +(\d+) methods instrumented, (\d+) called(?:, \d+ samples)?$/
const ENDING = /^(?:ending: |finished after )/
const NEXT_LINE = /[\r\n]+|\x1b\[K/

/**
 * @typedef {{what: 'progress', events: number, instrumented: number, called: number}
 *   | {what: 'ending', line: string} | {what: 'says', line: string}} Told
 */

/**
 * @param {string} line
 * @returns {Told}
 */
export function toldBy(line) {
  const progress = PROGRESS.exec(line)
  if (progress !== null) {
    const [, , events, instrumented, called] = progress.map(Number)
    return { what: 'progress', events, instrumented, called }
  }
  return ENDING.test(line) ? { what: 'ending', line } : { what: 'says', line }
}

/**
 * Lines in order. A line that is redrawn unchanged is reported once. The progress line has no line end, and is reported as soon as it is
 * complete.
 */
export class TerminalLines {
  #rest = ''
  #last = ''

  /**
   * @param {string} text  output written to the terminal
   * @returns {Told[]}
   */
  take(text) {
    const pieces = (this.#rest + text).split(NEXT_LINE)
    this.#rest = pieces.pop() ?? ''
    const told = pieces.flatMap((piece) => this.#once(piece))
    if (PROGRESS.test(this.#rest.trim()) || ENDING.test(this.#rest.trim()))
      told.push(...this.#once(this.#rest))
    return told
  }

  /** Reports the last line, which has no line end. */
  end() {
    return this.#once(this.#rest)
  }

  /**
   * @param {string} piece
   * @returns {Told[]}
   */
  #once(piece) {
    const line = piece.trim()
    if (line === '' || line === this.#last) return []
    this.#last = line
    return [toldBy(line)]
  }
}
