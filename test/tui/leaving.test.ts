// A program that uses a real terminal restores it, however the program ends. The program is a screen with one line of
// text, in a pseudo-terminal of the kernel with a terminal emulator.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'
import { until } from '../live/remains.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { moduleUrl } from '../support/modules.mjs'
import { Terminal } from '../support/terminal.ts'

const screenModule = await moduleUrl('tui/screen.js')

/** Draws "shown" and reacts to keys. A signal ends the program in the same way as it ends jfluid. */
const PROGRAM = `
import { openScreen } from ${JSON.stringify(screenModule)}
const screen = await openScreen()
const draw = () => screen.draw([[{ text: 'shown ' + process.pid, style: 'hot' }]])
screen.onKey(({ name }) => {
  if (name === 'C-c') { screen.destroy(); process.exitCode = 3 }
  if (name === 'C-z') screen.suspend()
  if (name === 'e') process.exit(4)
  if (name === 'x') throw new Error('thrown')
  if (name === 'r') Promise.reject(new Error('rejected'))
})
screen.onResize(draw)
screen.onSignal((signal) => { process.exitCode = { SIGTERM: 15, SIGHUP: 1, SIGINT: 2, SIGQUIT: 3 }[signal] })
draw()
`
const program = join(temporaryDirectory(), 'program.mjs')
writeFileSync(program, PROGRAM)
const command = [process.execPath, program]
const PROMPT = '$ '
const LEFT = { screen: 'normal', mouse: 'none', cursorShown: true, applicationKeys: false }
const TAKEN = { screen: 'alternate', mouse: 'vt200', cursorShown: false }

/** Resolves when the text is shown, with the terminal and the program's process id. */
async function shown(): Promise<{ terminal: Terminal; pid: number }> {
  const terminal = new Terminal(command, { before: 'echo before', after: 'stty -a' })
  const pid = await terminal.until((lines) => /^shown (\d+)$/.exec(lines[0]!)?.[1])
  assert.deepEqual({ ...terminal.modes(), ...TAKEN }, terminal.modes())
  return { terminal, pid: Number(pid) }
}

/** Checks that the program has ended, and that settings and contents of the terminal are restored. */
async function expectLeft(terminal: Terminal, code: number, signal = ''): Promise<string> {
  assert.equal((await terminal.exit).code, code, signal)
  assert.deepEqual(terminal.modes(), LEFT)
  const text = terminal.scrollback().join('\n')
  assert.match(text, /^before/)
  assert.doesNotMatch(text, /shown/)
  assert.match(text, /[^-]icanon/, 'lines are typed as before')
  assert.match(text, /[^-]echo /)
  return text
}

describe('the terminal is restored when the program ends or stops', { timeout: 120_000 }, () => {
  it('the terminal is restored at Ctrl-C, which arrives as a key and not as a signal', async () => {
    const { terminal } = await shown()
    terminal.send('\x03')
    await expectLeft(terminal, 3)
  })

  it('the terminal is restored at SIGTERM, SIGHUP, SIGINT and SIGQUIT', async () => {
    const codes = { SIGTERM: 15, SIGHUP: 1, SIGINT: 2, SIGQUIT: 3 } as const
    await Promise.all(
      Object.entries(codes).map(async ([signal, code]) => {
        const { terminal, pid } = await shown()
        process.kill(pid, signal)
        await expectLeft(terminal, code, signal)
      }),
    )
  })

  it('the terminal is restored when the program exits unexpectedly', async () => {
    const { terminal } = await shown()
    terminal.send('e')
    await expectLeft(terminal, 4)
  })

  it('the terminal is restored at a crash, and the error message is visible', async () => {
    const { terminal } = await shown()
    terminal.send('x')
    assert.match(await expectLeft(terminal, 1), /Error: thrown/)
  })

  it('the terminal is restored at an unhandled rejection', async () => {
    const { terminal } = await shown()
    terminal.send('r')
    assert.match(await expectLeft(terminal, 1), /Error: rejected/)
  })

  it('the terminal is restored at Ctrl-Z, and the view is shown again by fg', async () => {
    const { terminal } = await shownInShell()
    const before = terminal.screen()[0]
    terminal.send('\x1a')
    await terminal.until((lines) => lines.some((line) => /Stopped/.test(line)))
    await until(() => terminal.modes().screen === 'normal')
    assert.deepEqual(terminal.modes(), LEFT)
    terminal.send('fg\r')
    await terminal.until((lines) => lines[0] === before)
    assert.deepEqual({ ...terminal.modes(), ...TAKEN }, terminal.modes())
    terminal.send('\x03')
    await terminal.until(
      (lines) => lines.some((line) => /^\$ fg/.test(line)) && /\$$/.test(lines.findLast((it) => it !== '')!),
    )
    terminal.send('exit 7\r')
    assert.equal((await terminal.exit).code, 7)
    assert.deepEqual(terminal.modes(), LEFT)
  })

  it('the terminal is restored at SIGSTOP from another process, and the view is shown again only by fg', async () => {
    const { terminal } = await shownInShell()
    const before = terminal.screen()[0]
    const pid = Number(/\d+/.exec(before!)![0])
    const state = (): string => /^\d+ \(.*\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1]!
    process.kill(pid, 'SIGSTOP')
    await until(() => state() === 'T')
    // The shell's line may be on either screen, since no process could restore the terminal.
    terminal.send('\r')
    await terminal.until((lines) => lines.some((line) => /Stopped/.test(line)))
    process.kill(pid, 'SIGCONT')
    await until(() => state() === 'T')
    // A shell that has not yet noticed the stop regards the job as running, and `fg` would not continue the job.
    await until(() => {
      terminal.send('\r')
      return terminal.written().match(/Stopped/g)!.length >= 2
    })
    terminal.send('fg\r')
    // The redraw removes the shell's output, and then the program receives the keys.
    await terminal.until((lines) => lines[0] === before && lines.slice(1).every((line) => line === ''))
    terminal.send('\x03')
    await terminal.until((lines) => /^\$ .*program\.mjs$/.test(lines[0]!) && lines[1] === '$')
    terminal.send('echo code $?\r')
    await terminal.until((lines) => lines.includes('code 3'))
    terminal.send('exit 7\r')
    assert.equal((await terminal.exit).code, 7)
  })
})

describe('a terminal that has been closed', { timeout: 120_000 }, () => {
  it('a closed terminal ends the view of a file as SIGHUP does, and Node.js does not abort', async () => {
    const profile = fileURLToPath(new URL('../profile/files/v1-exact.jfluid', import.meta.url))
    const told = join(temporaryDirectory(), 'code')
    // The shell also receives SIGHUP. It must survive the signal to report the exit code.
    const terminal = Terminal.jfluid(['open', profile], {
      before: "trap '' HUP",
      after: `echo $code >${told}.new; mv ${told}.new ${told}`,
    })
    await terminal.until((lines) => /^ jfluid {2}v1-exact/.test(lines[0]!))
    await terminal.hangUp()
    await until(() => existsSync(told))
    assert.equal(readFileSync(told, 'utf8'), '129\n')
  })
})

/** Runs as a job of an interactive shell, which can stop and continue it. */
async function shownInShell(): Promise<{ terminal: Terminal }> {
  const line = command.join(' ')
  // Wide enough for the typed command: with npx the path of Node.js may be longer than 80 columns.
  const columns = Math.max(80, `${PROMPT}${line}`.length + 1)
  const terminal = new Terminal(['env', `PS1=${PROMPT}`, 'bash', '--norc', '-i'], { columns })
  await terminal.until((lines) => /^\$/.test(lines[0]!))
  terminal.send(`${line}\r`)
  await terminal.until((lines) => /^shown \d+$/.test(lines[0]!))
  return { terminal }
}
