// Copies text to the clipboard of the user's terminal by the escape sequence OSC 52, which also works over ssh.
// A terminal does not confirm the copy and may refuse it, so jfluid can only report that the text was sent.

const BELL = '\x07'
const ESC = '\x1b'

/** Maximum length of the text in base64: the limit of some terminals, minus the escape sequence. */
const MAX_ENCODED_BYTES = 74_000
/** Number of characters that always fit: each has at most 3 bytes in UTF-8, and 3 bytes are 4 base64 characters. */
const MAX_CHARACTERS = MAX_ENCODED_BYTES / 4

/**
 * Returns the escape sequence that copies a text to the clipboard.
 *
 * @param isTmux  whether jfluid runs inside tmux. If so, the sequence is sent twice: to tmux (for its option set-clipboard), and wrapped to
 *                the outer terminal (for the option allow-passthrough)
 */
export function clipboardSequence(text: string, isTmux: boolean): string {
  const sequence = `${ESC}]52;c;${Buffer.from(text, 'utf8').toString('base64')}${BELL}`
  if (!isTmux) return sequence
  return `${sequence}${ESC}Ptmux;${sequence.replaceAll(ESC, ESC + ESC)}${ESC}\\`
}

/** Joins the lines. If the text is too long for a terminal, lines in the middle are omitted. */
export function linesForClipboard(lines: readonly string[]): string {
  const text = lines.join('\n')
  if (text.length <= MAX_CHARACTERS) return text
  const ends: [string[], string[]] = [[], []]
  let room = MAX_CHARACTERS - 40
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
  return [...ends[0], middle, ...ends[1].reverse()].join('\n').slice(0, MAX_CHARACTERS)
}
