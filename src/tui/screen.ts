// The terminal as a rectangle of cells with keys and a mouse. The only importer of neo-blessed, of
// which we use what it does well: it keeps what the terminal shows and writes the difference.
//
// Its traps, found while trying it (0.2.0):
// - it cannot read modern terminfo: we name 'xterm-256color', which it carries, whatever TERM says;
// - NCURSES_NO_UTF8_ACS=1, or lines are drawn with the alternate character set;
// - its widgets and its content parser cost more than all else: we fill its cells ourselves;
// - it would turn every uncaught exception and SIGTERM into an exit of its own: its process listeners
//   are removed, and ours put the terminal back and leave the error to whoever prints errors;
// - its key parser drops keys that arrive together with a mouse report: see input.ts;
// - double-width characters move the cursor further than it thinks: lines with one are written whole.

import type { BlessedCell, BlessedScreen } from 'neo-blessed'
import { EX_NOTERMINAL, EX_SMALLTERM, JfluidError } from '../base/errors.ts'
import { clipboardSequence } from './clipboard.ts'
import { cellsOf } from './format.ts'
import { type InputEvent, InputParser, type Key, type Mouse } from './input.ts'
import { isTooSmall, SMALLEST_COLUMNS, SMALLEST_ROWS } from './size.ts'

export type { Key, Mouse } from './input.ts'

/** What text is for; how that looks depends on the colours of the terminal. */
export type Style = keyof typeof STYLES

export interface Run {
  /** Cleaned text (format.ts): every character takes one cell or two. */
  readonly text: string
  readonly style: Style
}

/** A line of the screen; what is missing at its end is blank, what is too long is cut. */
export type Line = readonly Run[]

export interface Screen {
  readonly columns: number
  readonly rows: number
  /** Whether characters beyond ASCII can be shown. */
  readonly unicode: boolean
  draw(lines: readonly Line[]): void
  onKey(listener: (key: Key) => void): void
  onMouse(listener: (mouse: Mouse) => void): void
  onResize(listener: () => void): void
  /** SIGTERM, SIGHUP, SIGINT, and SIGQUIT unless another takes it, from outside; the terminal has been put back already. */
  onSignal(listener: (signal: NodeJS.Signals) => void): void
  /** Sends a text to the terminal's clipboard. */
  copy(text: string): void
  /** Ctrl-Z: puts the terminal back and stops; comes back after `fg`, redrawn. */
  suspend(): void
  /** Puts the terminal back as it was. Again does nothing. */
  destroy(): void
}

type Environment = { readonly [name: string]: string | undefined }

/** What does without the screen. */
const INSTEAD = 'record without one: jfluid record <pid> --root <method> --duration 10s --out p.jfluid'

/** Input or output is not a terminal. */
export class NoTerminal extends JfluidError {
  static sample = () => new NoTerminal('output', 'use jfluid record.')
  readonly exitCode = EX_NOTERMINAL
  readonly hint: string
  constructor(which: 'input' | 'output', instead: string) {
    super(`the live view needs a terminal, and the standard ${which} is not a terminal`)
    this.hint = sentence(instead)
  }
}

/** A terminal that cannot move its cursor. */
export class DumbTerminal extends JfluidError {
  static sample = () => new DumbTerminal('dumb', 'use jfluid record.')
  readonly exitCode = EX_SMALLTERM
  readonly hint: string
  constructor(type: string, instead: string) {
    super(`the live view does not work on a terminal of type "${type}"`)
    this.hint = `Set TERM to the type of the terminal, or ${instead}`
  }
}

/** A terminal with fewer cells than the live view needs. One that shrinks later is told so on the screen. */
export class SmallTerminal extends JfluidError {
  static sample = () => new SmallTerminal(60, 20, 'use jfluid record.')
  readonly exitCode = EX_SMALLTERM
  readonly hint: string
  constructor(columns: number, rows: number, instead: string) {
    super(
      `the live view needs a terminal of ${SMALLEST_COLUMNS} columns and ${SMALLEST_ROWS} rows; this terminal has ${columns} and ${rows}`,
    )
    this.hint = `Enlarge the terminal, or ${instead}`
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** What is asked of a stream; `process.stdin` and `process.stdout` have it. */
interface MaybeTerminal {
  readonly isTTY?: boolean
  /** Missing, or 0, where nobody knows: the view is tried, and told when it is known. */
  readonly columns?: number
  readonly rows?: number
}

/**
 * Why the live view cannot be shown on these streams; null when it can.
 *
 * @param instead  what does without it, for the hint: "record without one: jfluid record …"
 */
export function terminalProblem(
  stdin: MaybeTerminal,
  stdout: MaybeTerminal,
  env: Environment,
  instead = INSTEAD,
): JfluidError | null {
  if (stdout.isTTY !== true) return new NoTerminal('output', instead)
  if (stdin.isTTY !== true) return new NoTerminal('input', instead)
  if (env.TERM === 'dumb' || env.TERM === 'unknown') return new DumbTerminal(env.TERM, instead)
  const { columns, rows } = stdout
  if (!columns || !rows || !isTooSmall({ columns, rows })) return null
  return new SmallTerminal(columns, rows, instead)
}

/** Whether the locale is UTF-8, by the precedence of POSIX. */
export function isUnicode(env: Environment): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '')
}

const BOLD = 1 << 18
const UNDERLINE = 2 << 18
const INVERSE = 8 << 18
const DEFAULT = 0x1ff
const attribute = (flags: number, foreground: number = DEFAULT, background: number = DEFAULT): number =>
  flags | (foreground << 9) | background
const PLAIN = attribute(0)

/** By colours: 256 that are told apart by the colour-blind, too; the 8 that every theme has; none. */
const STYLES = {
  plain: [PLAIN, PLAIN, PLAIN],
  title: [attribute(BOLD), attribute(BOLD), attribute(BOLD)],
  dim: [attribute(0, 244), PLAIN, PLAIN],
  header: [attribute(UNDERLINE, 74), attribute(UNDERLINE, 6), attribute(UNDERLINE)],
  sorted: [attribute(BOLD | UNDERLINE, 74), attribute(BOLD | UNDERLINE, 6), attribute(BOLD | UNDERLINE)],
  selected: [attribute(INVERSE), attribute(INVERSE), attribute(INVERSE)],
  hot: [attribute(BOLD, 208), attribute(BOLD, 3), attribute(BOLD)],
  warm: [attribute(0, 179), attribute(0, 3), PLAIN],
  match: [attribute(BOLD | UNDERLINE, 74), attribute(BOLD | UNDERLINE, 6), attribute(BOLD | UNDERLINE)],
  key: [attribute(BOLD, 74), attribute(BOLD, 6), attribute(BOLD)],
  good: [attribute(0, 74), attribute(0, 6), PLAIN],
  warning: [attribute(BOLD, 179), attribute(BOLD, 3), attribute(BOLD)],
  error: [attribute(BOLD, 203), attribute(BOLD, 1), attribute(BOLD)],
  flame: [attribute(0, 16, 187), attribute(0, 0, 7), PLAIN],
  'flame-warm': [attribute(0, 16, 179), attribute(0, 0, 3), PLAIN],
  'flame-hot': [attribute(BOLD, 16, 208), attribute(BOLD, 0, 3), attribute(BOLD)],
  'flame-match': [attribute(BOLD, 16, 74), attribute(BOLD, 0, 6), attribute(BOLD | UNDERLINE)],
  'flame-less': [attribute(0, 16, 110), attribute(0, 0, 6), PLAIN],
} satisfies Readonly<Record<string, readonly [many: number, few: number, none: number]>>

/** Button presses and wheel, in the SGR encoding that has no limit of 223 columns. */
const MOUSE_ON = '\x1b[?1000h\x1b[?1006h'
const MOUSE_OFF = '\x1b[?1006l\x1b[?1000l'
/** A terminal as everyone expects it: no mouse, cursor shown, first screen, no attributes. */
const RESTORE = `${MOUSE_OFF}\x1b[?1l\x1b>\x1b[?25h\x1b[?1049l\x1b[m`
/** An Escape that nothing has followed for so long is the key. */
const ESCAPE_MS = 40
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
/** Longer than a stop takes to arrive. */
const NOT_STOPPED_MS = 100
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const
const LIBRARY_LISTENS = ['uncaughtException', 'SIGTERM', 'SIGINT', 'SIGQUIT', 'exit'] as const

/** Loads the terminal library, 40–90 ms, while something else is waited for. `openScreen` tells its errors. */
export function preloadScreen(): void {
  import('neo-blessed').catch(() => {})
}

/** Takes over the terminal until `destroy`. Ask `terminalProblem` first. */
export async function openScreen(
  input: NodeJS.ReadStream = process.stdin,
  output: NodeJS.WriteStream = process.stdout,
  env: Environment = process.env,
): Promise<Screen> {
  process.env.NCURSES_NO_UTF8_ACS = '1'
  // Under `run` it is passed on to the JVM, which shows its threads; the view stays.
  const isQuitTaken = process.listenerCount('SIGQUIT') > 0
  const signals = SIGNALS.filter((signal) => signal !== 'SIGQUIT' || !isQuitTaken)
  const { default: blessed } = await import('neo-blessed')
  const unicode = isUnicode(env)
  const before = new Map(LIBRARY_LISTENS.map((event) => [event, new Set(process.listeners(event as 'exit'))]))
  const screen = blessed.screen({
    input,
    output,
    terminal: 'xterm-256color',
    forceUnicode: unicode,
    fullUnicode: false,
    warnings: false,
  })
  for (const [event, known] of before) {
    for (const listener of process.listeners(event as 'exit')) {
      if (!known.has(listener)) process.removeListener(event, listener)
    }
  }
  return new TerminalScreen(screen, input, output, unicode, env, signals)
}

class TerminalScreen implements Screen {
  readonly #palette: 0 | 1 | 2
  readonly #isTmux: boolean
  readonly #parser = new InputParser()
  readonly #keyListeners: ((key: Key) => void)[] = []
  readonly #mouseListeners: ((mouse: Mouse) => void)[] = []
  readonly #resizeListeners: (() => void)[] = []
  readonly #signalListeners: ((signal: NodeJS.Signals) => void)[] = []
  #escapeTimer: NodeJS.Timeout | undefined
  #drawn: readonly Line[] = []
  /** Lines that hold a double-width character, as the terminal shows them. */
  #wide = new Set<number>()
  #suspended = false
  #destroyed = false
  /** The terminal has not taken what was drawn last: what comes meanwhile is drawn when it has. */
  #isBehind = false

  constructor(
    private readonly screen: BlessedScreen,
    private readonly input: NodeJS.ReadStream,
    private readonly output: NodeJS.WriteStream,
    readonly unicode: boolean,
    env: Environment,
    private readonly signals: readonly NodeJS.Signals[],
  ) {
    // Of these, Node.js takes the first for one with colours.
    const isMonochrome = /^vt\d/.test(env.TERM ?? '') && env.FORCE_COLOR === undefined
    const depth = isMonochrome ? 1 : output.getColorDepth(env)
    this.#palette = depth >= 8 ? 0 : depth > 1 ? 1 : 2
    this.#isTmux = Boolean(env.TMUX)
    input.setRawMode?.(true)
    input.setEncoding('utf8')
    input.on('data', this.#onData)
    input.on('end', this.#onHangup)
    input.on('error', this.#onHangup)
    input.resume()
    output.on('resize', this.#onResize)
    output.on('error', this.#onOutputError)
    for (const signal of this.signals) process.on(signal, this.#onSignal)
    process.on('SIGCONT', this.#onContinue)
    process.on('uncaughtExceptionMonitor', this.#onExit)
    process.on('exit', this.#onExit)
    screen.program.flush()
    output.write(MOUSE_ON)
  }

  get columns(): number {
    return this.screen.program.cols
  }

  get rows(): number {
    return this.screen.program.rows
  }

  draw(lines: readonly Line[]): void {
    if (this.#destroyed) return
    this.#drawn = lines
    if (this.#suspended || this.#isBehind) return
    if (this.output.writableLength > 0) {
      this.#catchUp()
      return
    }
    const cells = this.screen.lines
    for (let row = 0; row < cells.length; row++) this.#fill(row, lines[row] ?? [])
    this.screen.draw(0, cells.length - 1)
    this.screen.program.flush()
  }

  /** Draws what is to be shown by then, once the terminal has taken all. */
  #catchUp(): void {
    this.#isBehind = true
    this.output.write('', () => {
      this.#isBehind = false
      this.draw(this.#drawn)
    })
  }

  #fill(row: number, line: Line): void {
    const cells = this.screen.lines[row]!
    const columns = cells.length
    let at = 0
    let wide = false
    for (const { text, style } of line) {
      const look = STYLES[style][this.#palette]
      for (const character of text) {
        const taken = this.unicode ? cellsOf(character) : 1
        if (at + taken > columns) break
        this.#put(cells, at, look, this.unicode || character <= '~' ? character : '?')
        at++
        if (taken === 2) {
          wide = true
          this.#put(cells, at, look, '')
          at++
        }
      }
    }
    while (at < columns) this.#put(cells, at++, PLAIN, ' ')
    cells.dirty = true
    if (wide || this.#wide.has(row)) {
      for (const cell of this.screen.olines[row]!) cell[0] = -1
      if (wide) this.#wide.add(row)
      else this.#wide.delete(row)
    }
  }

  #put(cells: BlessedCell[], at: number, look: number, character: string): void {
    const cell = cells[at]!
    cell[0] = look
    // Texts are clean; should one not be, the terminal still gets nothing to obey.
    cell[1] = CONTROL.test(character) ? '?' : character
  }

  onKey(listener: (key: Key) => void): void {
    this.#keyListeners.push(listener)
  }

  onMouse(listener: (mouse: Mouse) => void): void {
    this.#mouseListeners.push(listener)
  }

  onResize(listener: () => void): void {
    this.#resizeListeners.push(listener)
  }

  onSignal(listener: (signal: NodeJS.Signals) => void): void {
    this.#signalListeners.push(listener)
  }

  copy(text: string): void {
    if (!this.#destroyed && !this.#suspended) this.output.write(clipboardSequence(text, this.#isTmux))
  }

  suspend(): void {
    if (this.#destroyed || this.#suspended) return
    this.#suspended = true
    this.output.write(MOUSE_OFF)
    this.screen.leave()
    this.input.setRawMode?.(false)
    // The whole job, as the terminal itself would: whatever started us waits in it. SIGCONT brings us
    // back; the timer does where nobody could, since a job without a shell above it is not stopped.
    process.kill(0, 'SIGTSTP')
    setTimeout(() => {
      if (this.#suspended) this.#onContinue()
    }, NOT_STOPPED_MS)
  }

  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    clearTimeout(this.#escapeTimer)
    this.input.off('data', this.#onData)
    this.input.off('end', this.#onHangup)
    this.output.off('resize', this.#onResize)
    for (const signal of this.signals) process.off(signal, this.#onSignal)
    process.off('SIGCONT', this.#onContinue)
    process.off('uncaughtExceptionMonitor', this.#onExit)
    process.off('exit', this.#onExit)
    try {
      this.screen.destroy()
    } catch {
      // A library that fails now must not keep the terminal from being put back.
    }
    try {
      if (this.output.writable) this.output.write(RESTORE)
      this.input.setRawMode?.(false)
      this.input.pause()
    } catch {
      // The terminal has gone.
    }
  }

  readonly #onData = (text: string): void => {
    clearTimeout(this.#escapeTimer)
    this.#deliver(this.#parser.feed(text))
    if (!this.#parser.waiting) return
    this.#escapeTimer = setTimeout(() => this.#deliver(this.#parser.flush()), ESCAPE_MS)
  }

  #deliver(events: readonly InputEvent[]): void {
    for (const event of events) {
      if (this.#destroyed) return
      if ('key' in event) for (const listener of this.#keyListeners) listener(event.key)
      else for (const listener of this.#mouseListeners) listener(event.mouse)
    }
  }

  readonly #onResize = (): void => {
    if (this.#destroyed) return
    const { program } = this.screen
    program.cols = this.output.columns
    program.rows = this.output.rows
    this.#wide.clear()
    this.screen.alloc()
    for (const listener of this.#resizeListeners) listener()
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.destroy()
    for (const listener of this.#signalListeners) listener(signal)
  }

  readonly #onHangup = (): void => this.#onSignal('SIGHUP')

  /** A terminal that has gone fails every write; that is a hang-up, not a crash. */
  readonly #onOutputError = (): void => {
    if (!this.#destroyed) this.#onSignal('SIGHUP')
  }

  readonly #onExit = (): void => this.destroy()

  /** After a stop, ours or the shell's: someone else may have used the terminal meanwhile. */
  readonly #onContinue = (): void => {
    if (this.#destroyed) return
    this.#suspended = false
    // Where somebody else has stopped us the shell has changed modes that Node.js takes for ours still. In the background this stops us again, as it should.
    this.input.setRawMode?.(false)
    this.input.setRawMode?.(true)
    this.input.resume()
    this.screen.leave()
    this.screen.enter()
    this.screen.program.flush()
    this.output.write(MOUSE_ON)
    this.#wide.clear()
    this.draw(this.#drawn)
  }
}
