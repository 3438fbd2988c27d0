import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type ReadStream, WriteStream } from 'node:tty'
import { describe, it } from 'vitest'
import { isUnicode, type Line, openScreen, type Screen, terminalProblem } from '../../src/tui/screen.ts'

const UTF8 = { LANG: 'C.UTF-8', TERM: 'xterm-256color' }

/** Returns a screen on streams that claim to be a terminal, and the written text. */
async function onFakeTerminal(env: { [name: string]: string } = UTF8): Promise<{
  screen: Screen
  input: PassThrough & { raw: boolean }
  output: PassThrough & { columns: number; rows: number }
  written: () => string
}> {
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    raw: false,
    setRawMode(on: boolean) {
      input.raw = on
      return input
    },
  })
  const output = Object.assign(new PassThrough(), {
    isTTY: true,
    columns: 80,
    rows: 24,
    getColorDepth: WriteStream.prototype.getColorDepth,
  })
  let text = ''
  output.on('data', (data: Buffer) => {
    text += data.toString()
  })
  const screen = await openScreen(input as unknown as ReadStream, output as unknown as WriteStream, env)
  const written = (): string => {
    const all = text
    text = ''
    return all
  }
  return { screen, input, output, written }
}

const plain = (text: string): Line => [{ text, style: 'plain' }]

describe('terminals that the screen cannot use', () => {
  const TTY = { isTTY: true }

  it('the command exits with 71 and a hint if the output is no terminal', () => {
    const problem = terminalProblem(TTY, {}, UTF8)
    assert.equal(problem?.exitCode, 71)
    assert.match(problem?.message ?? '', /the standard output is not a terminal$/)
    assert.match(problem?.hint ?? '', /jfluid record/)
    assert.equal(terminalProblem({}, TTY, UTF8)?.exitCode, 71)
    assert.match(terminalProblem({}, TTY, UTF8)?.message ?? '', /the standard input is not a terminal$/)
  })
  it('the command exits with 81 if TERM is dumb', () => {
    assert.equal(terminalProblem(TTY, TTY, { TERM: 'dumb' })?.exitCode, 81)
  })
  it("the command exits with 81 and reports the terminal's size if the terminal is smaller than 80 × 24", () => {
    const sized = (columns: number, rows: number) => terminalProblem(TTY, { ...TTY, columns, rows }, UTF8)
    assert.deepEqual([sized(79, 24)?.exitCode, sized(80, 23)?.exitCode, sized(80, 24)], [81, 81, null])
    assert.match(sized(60, 10)?.message ?? '', /80 columns and 24 rows; this terminal has 60 and 10$/)
    assert.match(sized(60, 10)?.hint ?? '', /^Enlarge the terminal, or .*jfluid record/)
  })
  it('a terminal with escape sequences and at least 80 × 24 cells, or with unknown size, is accepted', () => {
    assert.equal(terminalProblem(TTY, TTY, { TERM: 'vt100' }), null)
    assert.equal(terminalProblem(TTY, TTY, {}), null)
    assert.equal(terminalProblem(TTY, { ...TTY, columns: 0, rows: 0 }, UTF8), null)
  })
  it('a terminal has UTF-8 if the locale in the environment has UTF-8', () => {
    assert.equal(isUnicode({ LANG: 'de_DE.UTF-8' }), true)
    assert.equal(isUnicode({ LC_ALL: 'C', LANG: 'de_DE.UTF-8' }), false)
    assert.equal(isUnicode({}), false)
  })
})

describe('the screen of a live view', () => {
  it("the screen changes the terminal's state, and restores the state once", async () => {
    const listeners = (): number[] =>
      ['uncaughtException', 'SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGCONT', 'exit'].map((event) =>
        process.listenerCount(event),
      )
    const before = listeners()
    const { screen, input, written } = await onFakeTerminal()
    screen.draw([plain('hello')])
    assert.match(written(), /\x1b\[\?1049h.*\x1b\[\?1006h.*hello/s)
    assert.equal(input.raw, true)
    screen.destroy()
    assert.match(written(), /\x1b\[\?1006l.*\x1b\[\?25h.*\x1b\[\?1049l/s)
    assert.equal(input.raw, false)
    screen.destroy()
    screen.draw([plain('late')])
    assert.equal(written(), '')
    assert.deepEqual(listeners(), before)
  })

  it('the screen writes only the cells that have changed', async () => {
    const { screen, written } = await onFakeTerminal()
    screen.draw([plain('total 100'), plain('same line')])
    written()
    screen.draw([plain('total 105'), plain('same line')])
    const change = written()
    assert.match(change, /5/)
    assert.doesNotMatch(change, /total|same/)
    screen.destroy()
  })

  it('a line with double-width characters is written completely, so that cells stay aligned', async () => {
    const { screen, written } = await onFakeTerminal()
    screen.draw([plain('数学 1 end')])
    written()
    screen.draw([plain('数学 2 end')])
    assert.match(written(), /数学 2 end/)
    screen.destroy()
  })

  it('the screen has no colour if NO_COLOR is set, and only ASCII if the terminal has no UTF-8', async () => {
    const { screen, written } = await onFakeTerminal({ NO_COLOR: '1', TERM: 'xterm', LANG: 'C' })
    screen.draw([[{ text: 'hot é', style: 'hot' }]])
    const text = written()
    assert.match(text, /\x1b\[1mhot \?/)
    assert.doesNotMatch(text, /\x1b\[[\d;]*(38;5|3[0-7])/)
    screen.destroy()
  })

  it('the screen has no colour on a monochrome terminal unless the user requests colour', async () => {
    for (const [env, isColoured] of [
      [{ TERM: 'vt100', LANG: 'C' }, false],
      [{ TERM: 'vt220', LANG: 'C' }, false],
      [{ TERM: 'vt100', LANG: 'C', FORCE_COLOR: '1' }, true],
      [{ TERM: 'xterm', LANG: 'C' }, true],
    ] as const) {
      const { screen, written } = await onFakeTerminal(env)
      screen.draw([[{ text: 'hot', style: 'hot' }]])
      assert.equal(/\x1b\[[\d;]*(38;5|3[0-7])/.test(written()), isColoured, JSON.stringify(env))
      screen.destroy()
    }
  })

  it('the screen reports keys, mouse events and its size to the view', async () => {
    const { screen, input, output } = await onFakeTerminal()
    const seen: string[] = []
    let wake = (): void => {}
    const see = (what: string): void => {
      seen.push(what)
      wake()
    }
    const until = (what: string): Promise<void> =>
      new Promise((resolve) => {
        wake = () => seen.includes(what) && resolve()
        wake()
      })
    screen.onKey((key) => see(key.name))
    screen.onMouse((mouse) => see(mouse.kind))
    screen.onResize(() => see(`${screen.columns}x${screen.rows}`))
    input.write('j\x1b[A\x1b[<65;3;2Mq')
    Object.assign(output, { columns: 100, rows: 30 }).emit('resize')
    await until('q')
    input.write('\x1b') // alone, without a following key
    await until('escape')
    assert.deepEqual(seen.sort(), ['100x30', 'escape', 'j', 'q', 'up', 'wheel-down'])
    screen.destroy()
  })

  it('the screen uses the number of colours that was requested', async () => {
    for (const [level, looks] of [
      ['0', /\x1b\[0?;?1m/],
      ['1', /\x1b\[[\d;]*33m/],
      ['2', /38;5;208m/],
    ] as const) {
      const { screen, written } = await onFakeTerminal({ ...UTF8, FORCE_COLOR: level })
      written()
      screen.draw([[{ text: 'busy', style: 'hot' }]])
      assert.match(written(), looks, `FORCE_COLOR=${level}`)
      screen.destroy()
    }
  })

  it('clipboard text is sent to the terminal, even inside tmux', async () => {
    const alone = await onFakeTerminal()
    alone.written()
    alone.screen.copy('a')
    assert.equal(alone.written(), '\x1b]52;c;YQ==\x07')
    alone.screen.destroy()
    const inside = await onFakeTerminal({ ...UTF8, TMUX: '/tmp/tmux-0/default,1,0' })
    inside.written()
    inside.screen.copy('a')
    assert.match(inside.written(), /\x1bPtmux;\x1b\x1b\]52;c;YQ==\x07\x1b\\$/)
    inside.screen.destroy()
  })

  it('the screen stops using the terminal when the terminal hangs up', async () => {
    const { screen, input, written } = await onFakeTerminal()
    const signal = new Promise((resolve) => screen.onSignal(resolve))
    input.end()
    assert.equal(await signal, 'SIGHUP')
    assert.match(written(), /\x1b\[\?1049l/)
  })
})
