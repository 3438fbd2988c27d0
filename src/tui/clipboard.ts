// The clipboard of the user's own terminal, wherever this program runs: the escape sequence OSC 52 asks the terminal to keep a
// text. Terminals do not answer, and may not allow it; so all that can be said is that it was sent.

const BELL = '\x07'
const ESC = '\x1b'

/** Of base64: what some terminals take at most, less the sequence around it. */
const MOST_ENCODED = 74_000
/** Characters of a text that always fit: three bytes each, four characters of base64 for three of them. */
const MOST_CHARACTERS = MOST_ENCODED / 4

/**
 * The sequence that puts a text into the clipboard.
 *
 * @param isTmux  inside of tmux, which keeps the text itself if it is told to (set-clipboard), and hands the sequence on to
 *                the terminal it runs in if it may (allow-passthrough): both are asked for
 */
export function clipboardSequence(text: string, isTmux: boolean): string {
  const sequence = `${ESC}]52;c;${Buffer.from(text, 'utf8').toString('base64')}${BELL}`
  if (!isTmux) return sequence
  return `${sequence}${ESC}Ptmux;${sequence.replaceAll(ESC, ESC + ESC)}${ESC}\\`
}

/** A line each, those in the middle left out where they would be too much for a terminal. */
export function linesForClipboard(lines: readonly string[]): string {
  const text = lines.join('\n')
  if (text.length <= MOST_CHARACTERS) return text
  const ends: [string[], string[]] = [[], []]
  let room = MOST_CHARACTERS - 40
  let [first, last] = [0, lines.length - 1]
  for (let end = 0; first <= last; end = 1 - end) {
    const line = lines[end === 0 ? first : last]!
    room -= line.length + 1
    if (room < 0) break
    ends[end]!.push(line)
    if (end === 0) first++
    else last--
  }
  const middle = `... ${last - first + 1} more ...`
  return [...ends[0], middle, ...ends[1].reverse()].join('\n').slice(0, MOST_CHARACTERS)
}
