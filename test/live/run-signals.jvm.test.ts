// Signals with jfluid run: a signal sent to jfluid reaches the program once, and the profile is kept.

import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, newestOrAll } from '../support/jdks.ts'
import { callsByMethod, cli, readProfileJson, startDetached, stderrLine } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { mappedFiles, until } from './remains.ts'

// With the argument "count" the program handles SIGINT itself, like shells and REPLs. Input other than x ends the program with exit status
// 7.
const SIGNALS = `
package fix;
public class Signals {
  static int told;
  static void root() { for (int i = 0; i < 3; i++) leaf(); }
  static void leaf() {}
  public static void main(String[] args) throws Exception {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
    if (args.length > 0)
      sun.misc.Signal.handle(new sun.misc.Signal("INT"), it -> System.out.println("told " + ++told));
    root();
    System.out.println("waiting");
    while (System.in.read() == 'x') {}
    System.exit(7);
  }
}`
/** Interval between signals. Signals that arrive too close together count as one, until the JVM has handled the first. */
const APART_MS = 1000
const DUMP = /^Full thread dump/gm

describe.each(newestOrAll)('signals during jfluid run, with JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    // null allows packages that --release hides, such as sun.misc
    classes = await compileJava(jdk, { 'fix/Signals.java': SIGNALS }, { release: null })
  })

  const file = (): string => join(temporaryDirectory(), 'p.jfluid')
  const flags = (out: string): string[] => ['run', '--root', 'fix.Signals.root', '--record', out, '--']
  const program = (of: Jdk, ...args: string[]): string[] => [of.java, '-cp', classes, 'fix.Signals', ...args]

  async function expectKept(out: string): Promise<void> {
    expect(callsByMethod(await readProfileJson(out)).get('fix.Signals.leaf()V')).toBe(3)
  }

  /** Makes the program end by itself, and expects that jfluid reports its exit status and keeps the profile. */
  async function expectGoesOn(p: JavaProcess, out: string, status = 7): Promise<void> {
    p.send('')
    expect(await p.exit, p.stderr()).toEqual({ code: status, signal: null })
    await expectKept(out)
  }

  it('if the JVM is killed at the start of the session, jfluid run exits with 137 and writes no profile', async () => {
    const out = file()
    const p = startDetached(...flags(out), ...program(jdk))
    // An earlier child is mkfifo, which ends at once.
    const isJava = (pid: string): boolean => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(jdk.java)
      } catch {
        return false
      }
    }
    const child = () => readFileSync(`/proc/${p.pid}/task/${p.pid}/children`, 'utf8').split(' ').find(isJava)
    await until(() => child() !== undefined)
    const java = Number(child())
    // After this the agent calibrates for at least 80 ms.
    await until(() => mappedFiles(java).some((it) => /jfluid.*ring/.test(it)))
    process.kill(java, 'SIGKILL')
    expect(await p.exit).toEqual({ code: 137, signal: null })
    expect(p.stderr()).toMatch(
      /fix\.Signals ended with exit code 137 before the recording began: .*\n {2}.*No profile was written/,
    )
    expect(existsSync(out)).toBe(false)
  })

  // SIGINT is also covered by the test with keys below.
  it.each(
    (
      [
        ['SIGINT', 130],
        ['SIGTERM', 143],
        ['SIGHUP', 129],
      ] as const
    ).slice(FULL ? 0 : 1),
  )(
    '%s sent only to jfluid ends the program after its shutdown hooks, with exit status %i',
    async (signal, status) => {
      const out = file()
      const p = startDetached(...flags(out), ...program(jdk))
      await p.line(/waiting/)
      p.child.kill(signal)
      expect(await p.exit, p.stderr()).toEqual({ code: status, signal: null })
      expect(p.stdout()).toBe('waiting\nhook\n')
      expect(p.stderr()).toContain(`profile written to ${out}`)
      await expectKept(out)
    },
  )

  it('SIGQUIT sent to jfluid reaches the JVM that a script has started, but not the script, which SIGQUIT would kill', async () => {
    const out = file()
    const line = program(jdk).map((word) => `'${word}'`)
    const p = startDetached(...flags(out), 'sh', '-c', `${line.join(' ')}; exit 5`)
    await p.line(/waiting/)
    p.child.kill('SIGQUIT')
    await p.line(/^Full thread dump/)
    await expectGoesOn(p, out, 5)
  })

  it('neither SIGQUIT nor a SIGINT that the program handles ends the program', async () => {
    const out = file()
    const p = startDetached(...flags(out), ...program(jdk, 'count'))
    await p.line(/waiting/)
    for (const nth of [1, 2, 3]) {
      p.child.kill('SIGINT')
      await p.line(new RegExp(`told ${nth}`))
    }
    expect(p.stdout()).toBe('waiting\ntold 1\ntold 2\ntold 3\n')
    for (const nth of [1, 2]) {
      p.child.kill('SIGQUIT')
      await p.line(/^Full thread dump/, nth)
    }
    await expectGoesOn(p, out)
    expect(p.stdout().match(DUMP)).toHaveLength(2)
    expect(p.stdout()).toMatch(/^hook$/m)
    expect(p.stdout()).not.toMatch(/told 4/)
  })

  it.each(
    (
      [
        ['SIGINT', 130],
        ['SIGTERM', 143],
      ] as const
    ).slice(FULL ? 0 : 1),
  )(
    '%s at the start of the session is not reported as a jfluid error, and the exit status is %i',
    async (signal, status) => {
      const out = file()
      const p = startDetached(...flags(out), ...program(jdk).toSpliced(1, 0, '-Xlog:class+load'))
      await p.line(/source: \S*jfluid/) // the first class of the agent is loaded, and main has not started
      p.child.kill(signal)
      expect(await p.exit, p.stderr()).toEqual({ code: status, signal: null })
      expect(p.stderr()).not.toMatch(/^jfluid:/m)
      // The message depends on whether the session had begun.
      expect(p.stderr()).toMatch(existsSync(out) ? /^profile written/m : /^SIG\w+ ended the program before/m)
    },
  )

  itInFull(
    'on a terminal, each signal from a key or from kill reaches the program exactly once',
    async () => {
      const out = file()
      // Keeps the terminal's shell alive when keys send signals.
      const before = 'trap : INT QUIT'
      const terminal = Terminal.jfluid([...flags(out), ...program(jdk, 'count')], { before })
      const has = (text: string | RegExp) => terminal.until((lines) => lines.join('\n').match(text) !== null)
      await has(/^waiting$/m)
      const client = terminal.processes().find((pid) => {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return words[0] === process.execPath
      })!
      const byKey = (key: string) => () => terminal.send(key)
      const byKill = (signal: NodeJS.Signals) => () => process.kill(client, signal)
      for (const [i, tell] of [byKey('\x03'), byKill('SIGINT'), byKey('\x03'), byKill('SIGINT')].entries()) {
        tell()
        await has(`told ${i + 1}`)
        await sleep(APART_MS)
      }
      const dumps = (): number => terminal.scrollback().join('\n').match(DUMP)?.length ?? 0
      for (const [i, tell] of [byKey('\x1c'), byKill('SIGQUIT')].entries()) {
        tell()
        await until(() => dumps() === i + 1)
        await sleep(APART_MS)
      }
      terminal.send('\n')
      expect((await terminal.exit).code).toBe(7)
      expect(dumps()).toBe(2)
      expect(terminal.scrollback().filter((line) => /told/.test(line))).toHaveLength(4)
      await expectKept(out)
    },
  )

  it('a signal sent by a key does not close the pipe that the program reads from', async () => {
    const out = file()
    const pipe = join(temporaryDirectory(), 'pipe')
    execFileSync('mkfifo', [pipe])
    const input = openSync(pipe, 'r+') // with 'r' alone, open would block until a writer exists
    try {
      const line = [process.execPath, cli, ...flags(out), ...program(jdk)].join(' ')
      const terminal = new Terminal(['sh', '-c', `exec ${line} <${pipe}`], { before: 'trap : INT QUIT' })
      const has = (text: RegExp) => terminal.until((lines) => text.test(lines.join('\n')))
      await has(/^waiting$/m)
      terminal.send('\x1c')
      await terminal.until(() => terminal.scrollback().join('\n').match(DUMP) !== null)
      writeSync(input, 'x')
      await sleep(APART_MS) // the program waits for input that is not there
      writeSync(input, '\n')
      expect((await terminal.exit).code).toBe(7)
      await expectKept(out)
    } finally {
      closeSync(input)
    }
  })

  it('Ctrl-C ends the program and jfluid, with exit status 130', async () => {
    const out = file()
    const terminal = Terminal.jfluid([...flags(out), ...program(jdk)])
    await terminal.until((lines) => lines.includes('waiting'))
    terminal.send('\x03')
    expect((await terminal.exit).code).toBe(130)
    await expectKept(out)
  })
})

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  '%s before a JVM has started ends the process that would start the JVM, with exit status %i',
  async (signal, status) => {
    const out = join(temporaryDirectory(), 'p.jfluid')
    const p = startDetached(
      ...['run', '--root', 'A.b', '--record', out, '--'],
      ...['sh', '-c', 'echo starting >&2; exec sleep 60'],
    )
    await stderrLine(p, /starting/)
    p.child.kill(signal)
    expect(await p.exit).toEqual({ code: status, signal: null })
    expect(p.stderr()).toBe(`starting\n${signal} ended the program before the recording began\n`)
    expect(existsSync(out)).toBe(false)
  },
)
