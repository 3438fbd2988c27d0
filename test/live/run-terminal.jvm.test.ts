// jfluid run on a real pseudo-terminal: only the view writes to the terminal, and the program's output goes to a file. Also views of
// programs that have ended or were killed.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { until } from './remains.ts'

// Prints to stdout and stderr until a file with the given name exists.
const NOISY = `
package fix;
import java.nio.file.*;
public class Noisy {
  static long work;
  static void root(int n) { for (int i = 0; i < 3; i++) leaf(n); }
  static void leaf(int n) { for (int i = 0; i < 1000; i++) work += i ^ n; }
  public static void main(String[] args) throws Exception {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("NOISE hook")));
    System.out.println("NOISE first");
    int n = 0;
    for (; !Files.exists(Path.of(args[0])); n++) {
      root(n);
      System.out.println("NOISE out " + n);
      System.err.println("NOISE err " + n);
      Thread.sleep(2);
    }
    System.out.println("NOISE turns " + n);
    System.exit(7);
  }
}`
const ROOT = 'fix.Noisy.root'
const LEFT_NORMAL = { screen: 'normal', mouse: 'none', cursorShown: true, applicationKeys: false }

/** Returns the calls of a method in the tree on the screen. */
function callsOf(lines: readonly string[], method: string): number | undefined {
  const row = lines.find((line) => line.endsWith(` ${method}`))
  const [, calls] = /^ *\S+ +\S+ +\S+ +(\S+) +\S+ {2}/.exec(row ?? '') ?? []
  return calls === undefined ? undefined : Number(calls.replace(',', ''))
}

const hasTree = (lines: readonly string[]): boolean =>
  callsOf(lines, ROOT) !== undefined && (callsOf(lines, 'fix.Noisy.leaf') ?? 0) > 30

describe.each(newestOrAll)('jfluid run on a terminal, with JDK $version', (jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Noisy.java': NOISY })
  })

  interface Running {
    readonly terminal: Terminal
    /** Process ids of jfluid and of the program. */
    readonly client: number
    readonly program: number
    /** Makes the program end by itself. */
    end(): void
    log(): string
    /** Expects that the terminal is restored and shows the report. Returns the output. */
    expectLeft(): string
    /** Expects that the log contains the complete output of the program, which continues after the view. */
    expectWholeLog(end?: RegExp): void
  }

  /** Starts the program, and waits until the live view shows the tree. */
  async function running(): Promise<Running> {
    const dir = temporaryDirectory()
    const end = join(dir, 'end')
    const terminal = Terminal.jfluid(
      ['run', '--root', ROOT, '--', jdk.java, '-cp', classes, 'fix.Noisy', end],
      {
        columns: 120,
        before: `trap : INT; cd ${dir}; stty -a >${dir}/before`,
        after: `stty -a >${dir}/after`,
      },
    )
    let noise = ''
    const look = (lines: string[]): boolean => {
      noise ||= lines.find((line) => line.includes('NOISE')) ?? ''
      return false
    }
    terminal.until(look).catch(() => {}) // checks every screen until the end
    await terminal.until(hasTree)
    const words = (pid: number): string[] => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const pids = terminal.processes()
    const output = readdirSync(dir).find((it) => /^jfluid-run-\d+\.log$/.test(it))!
    const log = (): string => readFileSync(join(dir, output), 'utf8')
    return {
      terminal,
      client: pids.find((pid) => words(pid)[0] === process.execPath)!,
      program: pids.find((pid) => words(pid)[0] === jdk.java)!,
      end: () => writeFileSync(end, ''),
      log,
      expectLeft() {
        expect(terminal.modes()).toEqual(LEFT_NORMAL)
        expect(readFileSync(join(dir, 'after'), 'utf8')).toBe(readFileSync(join(dir, 'before'), 'utf8'))
        const left = terminal.scrollback().join('\n')
        expect(left).toMatch(/^jfluid profile of fix\.Noisy$/m)
        expect(left).toMatch(/^Hot methods/m)
        expect(left).toContain(`the program's output is in ${output}`)
        // No output of the live view or of the program remains on the terminal.
        expect(left).not.toMatch(/q quit|events\/s|NOISE/)
        expect(noise).toBe('')
        return left
      },
      expectWholeLog(last = /^NOISE turns (\d+)$/) {
        const lines = log().trimEnd().split('\n')
        const turns = lines.filter((line) => /^NOISE out/.test(line)).length
        expect(turns).toBeGreaterThan(10)
        expect(lines.slice(0, 1 + 2 * turns)).toEqual([
          'NOISE first',
          ...Array.from({ length: turns }, (_, n) => [`NOISE out ${n}`, `NOISE err ${n}`]).flat(),
        ])
        expect(lines.slice(1 + 2 * turns).join('\n')).toMatch(last)
      },
    }
  }

  it('the view of jfluid run hides the output of the program; after the key q, the program continues until it ends with its own exit status', async () => {
    const { terminal, log, end, expectLeft, expectWholeLog } = await running()
    const before = callsOf(terminal.screen(), 'fix.Noisy.leaf')!
    await terminal.until((lines) => (callsOf(lines, 'fix.Noisy.leaf') ?? 0) > before)
    expect(terminal.modes().screen).toBe('alternate')
    terminal.send('q')
    await terminal.until((lines) => lines.some((line) => /the program continues, Ctrl-C ends it$/.test(line)))
    const printed = log().length
    await until(() => log().length > printed + 1000)
    end()
    expect((await terminal.exit).code).toBe(7)
    expectLeft()
    expectWholeLog(/^NOISE turns \d+\nNOISE hook$/)
  })

  itInFull('Ctrl-C after q ends the program', async () => {
    const { terminal, expectLeft, log } = await running()
    terminal.send('q')
    await terminal.until((lines) => lines.some((line) => /the program continues, Ctrl-C ends it$/.test(line)))
    terminal.send('\x03')
    expect((await terminal.exit).code).toBe(130)
    expectLeft()
    expect(log()).toMatch(/^NOISE hook$/m)
  })

  it('after the program ends, the last tree stays until q is pressed; then jfluid prints the report and exits with the status of the program', async () => {
    const { terminal, end, log, expectLeft, expectWholeLog } = await running()
    end()
    const turns = () => Number(/^NOISE turns (\d+)$/m.exec(log())?.[1])
    await terminal.until(
      (lines) =>
        / ended [\d.]+ m?s$/.test(lines[0]!) &&
        /the JVM ended.*: press q to quit and see the report/.test(lines.at(-2)!) &&
        callsOf(lines, 'fix.Noisy.leaf') === 3 * turns(),
    )
    terminal.send('q')
    expect((await terminal.exit).code).toBe(7)
    expect(expectLeft()).toMatch(/^JVM \d+ has ended$/m)
    expectWholeLog(/^NOISE turns \d+\nNOISE hook$/)
  })

  itInFull('the report states that the program was killed, and the exit status is 137', async () => {
    const { terminal, program, expectLeft } = await running()
    process.kill(program, 'SIGKILL')
    await terminal.until((lines) => /the JVM ended.*: press q/.test(lines.at(-2)!) && hasTree(lines))
    terminal.send('q')
    expect((await terminal.exit).code).toBe(137)
    expect(expectLeft()).toMatch(/the program was ended by SIGKILL/)
  })

  const signals = [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const
  // run-signals.jvm.test.ts tests the exit status of each signal.
  itInFull.each(signals)(
    '%s sent to jfluid ends the view and the program, with exit status %i',
    async (signal, status) => {
      const { terminal, client, log, expectLeft } = await running()
      process.kill(client, signal)
      expect((await terminal.exit).code).toBe(status)
      expect(expectLeft()).not.toContain('the program continues')
      expect(log()).toMatch(/^NOISE hook$/m)
    },
  )

  itInFull('a closed terminal ends the view and the program', async () => {
    const { terminal, client, program, log } = await running()
    await terminal.hangUp()
    await until(() => ![client, program].some(isRunning))
    expect(log()).toMatch(/^NOISE hook$/m)
  })

  itInFull(
    'SIGQUIT makes the program write a thread dump to its output file, and the view continues',
    async () => {
      const { terminal, client, log, end, expectLeft } = await running()
      process.kill(client, 'SIGQUIT')
      await until(() => /^Full thread dump/m.test(log()))
      const before = callsOf(terminal.screen(), 'fix.Noisy.leaf') ?? 0
      await terminal.until((lines) => (callsOf(lines, 'fix.Noisy.leaf') ?? 0) > before)
      terminal.send('q')
      end()
      expect((await terminal.exit).code).toBe(7)
      expect(expectLeft()).not.toContain('Full thread dump')
    },
  )

  itInFull(
    'attach to a JVM that is killed shows the last tree and the report, and exits with 74',
    async () => {
      const java = startJava(jdk, ['-cp', classes, 'fix.Noisy', join(temporaryDirectory(), 'end')])
      await java.line(/NOISE out/)
      const dir = temporaryDirectory()
      const terminal = Terminal.jfluid(['attach', String(java.pid), '--root', ROOT], {
        ...{ columns: 120, before: `stty -a >${dir}/before`, after: `stty -a >${dir}/after` },
      })
      await terminal.until(hasTree)
      await java.kill()
      await terminal.until(
        (lines) => / ended [\d.]+ m?s$/.test(lines[0]!) && /: press q/.test(lines.at(-2)!) && hasTree(lines),
      )
      terminal.send('q')
      expect((await terminal.exit).code).toBe(74)
      expect(terminal.modes()).toEqual(LEFT_NORMAL)
      expect(readFileSync(join(dir, 'after'), 'utf8')).toBe(readFileSync(join(dir, 'before'), 'utf8'))
      const left = terminal.scrollback().join('\n')
      expect(left).toMatch(/^jfluid profile of fix\.Noisy$/m)
      expect(left).toMatch(/fix\.Noisy\.leaf/)
      expect(left).toMatch(/^Hot methods/m)
      expect(left).toContain(`JVM ${java.pid} has ended`)
      expect(left).toContain(`jfluid: JVM ${java.pid} ended during the recording`)
      expect(left).not.toMatch(/q quit|events\/s/)
    },
  )
})

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
