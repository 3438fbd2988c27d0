// A command in a real terminal: a pseudo-terminal of the kernel, created by
// script(1), and an emulator that keeps the screen.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import headless from '@xterm/headless'
import { type JavaExit, startProcess, stop } from './java-process.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const QUOTE = /'/g

/** Timeout below that of the tests, so that the error contains the screen. */
const CEILING_MS = 100_000

export interface TerminalOptions {
  columns?: number
  rows?: number
  /** Shell commands before and after the command. */
  before?: string
  after?: string
}

export class Terminal {
  readonly #script: ReturnType<typeof startProcess>
  readonly #emulator: InstanceType<typeof headless.Terminal>
  readonly #waiting = new Set<() => void>()
  #cursorShown = true
  /** Exit of the terminal. Its exit code is the exit code of the command. */
  readonly exit: Promise<JavaExit>

  /** Runs `jfluid …` on a terminal of 80 × 24; both end with the test. */
  static jfluid(args: readonly string[], options: TerminalOptions = {}): Terminal {
    return new Terminal([process.execPath, cli, ...args], options)
  }

  constructor(
    command: readonly string[],
    { columns = 80, rows = 24, before = ':', after = ':' }: TerminalOptions = {},
  ) {
    const quoted = command.map((word) => `'${word.replace(QUOTE, `'\\''`)}'`).join(' ')
    const line = `stty rows ${rows} cols ${columns}; ${before}; ${quoted}; code=$?; ${after}; exit $code`
    this.#emulator = new headless.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true })
    this.#watchCursor()
    // This environment does not depend on the developer's own terminal.
    const env = { SHELL: '/bin/sh', TERM: 'xterm-256color', LC_ALL: 'C.UTF-8', NO_COLOR: undefined }
    this.#script = startProcess('script', ['-qefc', line, '/dev/null'], { env })
    this.#script.child.stdout?.on('data', (text: string) => this.#emulator.write(text, () => this.#look()))
    this.exit = this.#script.exit.then(async (how) => {
      await new Promise<void>((resolve) => this.#emulator.write('', resolve))
      return how
    })
  }

  /** Follows the visibility of the cursor (DECTCEM, mode 25), which the emulator does not expose. */
  #watchCursor(): void {
    for (const final of ['h', 'l']) {
      this.#emulator.parser.registerCsiHandler({ prefix: '?', final }, (modes) => {
        if (modes.includes(25)) this.#cursorShown = final === 'h'
        return false
      })
    }
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }

  /** Returns the lines of the screen, without trailing blanks. */
  screen(): string[] {
    const { active } = this.#emulator.buffer
    return Array.from({ length: this.#emulator.rows }, (_, row) => textOf(active.getLine(active.baseY + row)))
  }

  /** Returns the normal screen with its scrollback, even if the alternate screen is shown. */
  scrollback(): string[] {
    const { normal } = this.#emulator.buffer
    return Array.from({ length: normal.length }, (_, row) => textOf(normal.getLine(row)))
  }

  /** Returns the first line of the screen that begins in inverse video, which marks selections. */
  selected(): string | undefined {
    const { active } = this.#emulator.buffer
    return this.screen().find((_, row) =>
      active
        .getLine(active.baseY + row)
        ?.getCell(0)
        ?.isInverse(),
    )
  }

  /** Returns modes that programs change and must restore. */
  modes(): { screen: 'normal' | 'alternate'; mouse: string; cursorShown: boolean; applicationKeys: boolean } {
    const { buffer, modes } = this.#emulator
    return {
      screen: buffer.active.type,
      mouse: modes.mouseTrackingMode,
      cursorShown: this.#cursorShown,
      applicationKeys: modes.applicationCursorKeysMode || modes.applicationKeypadMode,
    }
  }

  /** Returns all bytes written to the terminal, including control sequences. */
  written(): string {
    return this.#script.stdout()
  }

  /** Sends keys or mouse clicks. */
  send(keys: string): void {
    this.#script.child.stdin?.write(keys)
  }

  /**
   * Evaluates the condition now and after each output, until its value is neither false nor undefined, and returns the value. The screen
   * may be partly drawn at any time, so assertions belong in the condition.
   *
   * @throws Error with the screen, if the command ends first or the timeout is exceeded
   */
  until<T>(question: (lines: string[]) => T | false | undefined, ceilingMs: number = CEILING_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        this.#waiting.delete(look)
        clearTimeout(ceiling)
        settle()
      }
      const look = (): boolean => {
        const answer = question(this.screen())
        if (answer === false || answer === undefined) return false
        finish(() => resolve(answer))
        return true
      }
      const give = (why: string) => () =>
        finish(() => reject(new Error(`${why}: ${question}\n${this.screen().join('\n')}`)))
      const ceiling = setTimeout(give(`not within ${ceilingMs} ms`), ceilingMs)
      this.#waiting.add(look)
      if (look()) return
      void this.exit.then(() => this.#waiting.has(look) && !look() && give('the command has ended')())
    })
  }

  /** Resizes the terminal, which the kernel reports to the command. */
  resize(columns: number, rows: number): void {
    this.#emulator.resize(columns, rows)
    const slave = readlinkSync(`/proc/${this.processes()[0]}/fd/0`)
    execFileSync('stty', ['-F', slave, 'rows', `${rows}`, 'cols', `${columns}`])
  }

  /** Returns the ids of the processes in the terminal, parents before children. */
  processes(): number[] {
    const found = [this.#script.pid]
    for (const pid of found) found.push(...childrenOf(pid))
    return found.slice(1)
  }

  /**
   * Stops reading the output until `goOn`, with full buffers: a write to the terminal blocks.
   */
  async stall(): Promise<void> {
    await stop(this.#script)
    const slave = openSync(
      `/proc/${this.processes()[0]}/fd/0`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    )
    // The kernel forwards buffered data, and then has space again for a moment.
    for (let full = 0; full < 5; await sleep(5)) full = fill(slave) === 0 ? full + 1 : 0
    closeSync(slave)
  }

  goOn(): void {
    this.#script.child.kill('SIGCONT')
  }

  /** Closes the terminal, like a closed window or a lost network connection. */
  async hangUp(): Promise<void> {
    await this.#script.kill()
  }
}

/** Writes invisible output until the buffers are full. @returns the number of bytes */
function fill(terminal: number): number {
  const nothing = Buffer.alloc(1024)
  for (let written = 0; ; ) {
    try {
      written += writeSync(terminal, nothing)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return written
      throw error
    }
  }
}

function textOf(line: { translateToString(trimRight: boolean): string } | undefined): string {
  return line?.translateToString(true).trimEnd() ?? ''
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return [] // the process has ended
  }
}
