// The terminal as a grid of cells with keys and mouse. Only this module imports neo-blessed, which keeps the current screen content and
// writes only the differences.
//
// Problems of neo-blessed 0.2.0 and their workarounds:
// - it cannot read modern terminfo: jfluid always selects its built-in 'xterm-256color', ignoring TERM;
// - without NCURSES_NO_UTF8_ACS=1, it draws lines with the alternate character set;
// - its widgets and its content parser are slow: jfluid fills the cells directly;
// - it exits the process on every uncaught exception and SIGTERM: jfluid removes its process listeners; the listeners of this module
//   restore the terminal, and the caller prints the error;
// - its key parser drops keys that arrive together with a mouse report: see input.ts;
// - it miscounts double-width characters: lines with such a character are always written completely.

import type { BlessedCell, BlessedScreen } from 'neo-blessed'
import { EX_NOTERMINAL, EX_SMALLTERM, JfluidError } from '../base/errors.ts'
import { clipboardSequence } from './clipboard.ts'
import { cellsOf } from './format.ts'
import { type InputEvent, InputParser, type Key, type Mouse } from './input.ts'
import { isTooSmall, SMALLEST_COLUMNS, SMALLEST_ROWS } from './size.ts'

export type { Key, Mouse } from './input.ts'

/** Purpose of a text. Its appearance depends on the colours of the terminal. */
export type Style = keyof typeof STYLES

export interface Run {
  /** Cleaned text (see `clean` in format.ts). Every character has a width of one or two cells. */
  readonly text: string
  readonly style: Style
}

/** Line of the screen. A short line is filled with blanks, a long line is cut. */
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
  /** Called for SIGTERM, SIGHUP, SIGINT, and for SIGQUIT without another listener, after the terminal has been restored. */
  onSignal(listener: (signal: NodeJS.Signals) => void): void
  /** Sends a text to the terminal's clipboard. */
  copy(text: string): void
  /** Ctrl-Z: restores the terminal and suspends the process. After `fg`, the screen is redrawn. */
  suspend(): void
  /** Restores the terminal. Idempotent. */
  destroy(): void
}

type Environment = { readonly [name: string]: string | undefined }

/** Text for hints: a command that works without the live view. */
const INSTEAD = 'record without one: jfluid record <pid> --root <method> --duration 10s --out p.jfluid'

/** Error: the input or the output is not a terminal. */
export class NoTerminal extends JfluidError {
  static sample = () => new NoTerminal('output', 'use jfluid record.')
  readonly exitCode = EX_NOTERMINAL
  readonly hint: string
  constructor(which: 'input' | 'output', instead: string) {
    super(`the live view needs a terminal, and the standard ${which} is not a terminal`)
    this.hint = sentence(instead)
  }
}

/** Error: the terminal cannot move its cursor. */
export class DumbTerminal extends JfluidError {
  static sample = () => new DumbTerminal('dumb', 'use jfluid record.')
  readonly exitCode = EX_SMALLTERM
  readonly hint: string
  constructor(type: string, instead: string) {
    super(`the live view does not work on a terminal of type "${type}"`)
    this.hint = `Set TERM to the type of the terminal, or ${instead}`
  }
}

/** Error at the start: the terminal is too small for the live view. If a terminal becomes too small later, the screen shows a message. */
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

/** Properties of `process.stdin` and `process.stdout` that are read. */
interface MaybeTerminal {
  readonly isTTY?: boolean
  /** Width; missing or 0 if unknown. With an unknown size, the view is started, and checks the size later. */
  readonly columns?: number
  readonly rows?: number
}

/**
 * Returns the reason why the live view cannot be shown on these streams, or null.
 *
 * @param instead  alternative command for the hint: "record without one: jfluid record …"
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

/** Returns whether the locale is UTF-8. Uses the POSIX precedence of environment variables. */
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

/** Styles for 256 colours (safe for colour-blind users), for 8 colours, and without colours. */
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

/** Requests reports of button presses and the wheel, in the SGR encoding, which has no limit of 223 columns. */
const MOUSE_ON = '\x1b[?1000h\x1b[?1006h'
const MOUSE_OFF = '\x1b[?1006l\x1b[?1000l'
/** Sequence that restores the default terminal state: no mouse, visible cursor, main screen, no attributes. */
const RESTORE = `${MOUSE_OFF}\x1b[?1l\x1b>\x1b[?25h\x1b[?1049l\x1b[m`
/** An Escape byte counts as the Escape key if no input follows within this time. */
const ESCAPE_TIMEOUT_MS = 40
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
/** Longer than the time until SIGTSTP stops the process. If the process still runs at this timeout, it cannot be stopped. */
const NOT_STOPPED_TIMEOUT_MS = 100
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const
const LIBRARY_LISTENS = ['uncaughtException', 'SIGTERM', 'SIGINT', 'SIGQUIT', 'exit'] as const

/** Loads the terminal library (40–90 ms) in the background. `openScreen` reports load errors. */
export function preloadScreen(): void {
  import('neo-blessed').catch(() => {})
}

/** Opens the screen, which controls the terminal until `destroy`. The caller must check `terminalProblem` first. */
export async function openScreen(
  input: NodeJS.ReadStream = process.stdin,
  output: NodeJS.WriteStream = process.stdout,
  env: Environment = process.env,
): Promise<Screen> {
  process.env.NCURSES_NO_UTF8_ACS = '1'
  // `jfluid run` has its own SIGQUIT listener: it forwards the signal to the JVM, which prints its threads. The view stays open.
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
  /** Indices of the lines on the terminal that contain double-width characters. */
  #wide = new Set<number>()
  #suspended = false
  #destroyed = false
  /**
   * True if the terminal has not yet accepted the last frame. Then the newest frame is drawn as soon as the terminal has accepted the last
   * one.
   */
  #isBehind = false

  constructor(
    private readonly screen: BlessedScreen,
    private readonly input: NodeJS.ReadStream,
    private readonly output: NodeJS.WriteStream,
    readonly unicode: boolean,
    env: Environment,
    private readonly signals: readonly NodeJS.Signals[],
  ) {
    // Node.js wrongly reports colours for vt100 and similar terminals.
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

  /** Draws the newest frame after the terminal has accepted all earlier output. */
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
    // Texts are already cleaned. This second check ensures that no control character is sent to the terminal.
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
    // Stops the whole process group, as a terminal does, since the group may contain a waiting parent process. SIGCONT resumes the view.
    // Without a shell, the kernel does not stop the group; the timer then resumes the view.
    process.kill(0, 'SIGTSTP')
    setTimeout(() => {
      if (this.#suspended) this.#onContinue()
    }, NOT_STOPPED_TIMEOUT_MS)
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
      // An error of the library must not prevent restoring the terminal.
    }
    try {
      if (this.output.writable) this.output.write(RESTORE)
      this.input.setRawMode?.(false)
      this.input.pause()
    } catch {
      // The terminal is closed.
    }
  }

  readonly #onData = (text: string): void => {
    clearTimeout(this.#escapeTimer)
    this.#deliver(this.#parser.feed(text))
    if (!this.#parser.waiting) return
    this.#escapeTimer = setTimeout(() => this.#deliver(this.#parser.flush()), ESCAPE_TIMEOUT_MS)
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

  /** A failed write means that the terminal is closed, and is handled like SIGHUP. */
  readonly #onOutputError = (): void => {
    if (!this.#destroyed) this.#onSignal('SIGHUP')
  }

  readonly #onExit = (): void => this.destroy()

  /** Redraws the screen after a stop, since another program may have used the terminal. */
  readonly #onContinue = (): void => {
    if (this.#destroyed) return
    this.#suspended = false
    // If another process sent the stop signal, the shell has changed terminal modes, and Node.js does not know the change. If jfluid is in
    // the background, this call stops the process again, as intended.
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
