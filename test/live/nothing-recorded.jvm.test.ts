// Recordings without data: each ends with the reason, the next step, and an exit code that is not 0.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import {
  AUTOSAVED,
  jfluid,
  type Ran,
  readProfileJson,
  recordedSoFar,
  startJfluid,
  stderrLine,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'

/** A program that calls `used`; with `ends`, it ends at once; with `fails`, it ends with 3. */
const IDLE = `
package fix;
public class Idle {
  interface Shape { int sides(); }
  static class Square implements Shape { public int sides() { return 4; } }
  static native int nativeOnly();
  static volatile long sink;
  static void used() { sink++; }
  static void never() {
    sink--;
  }
  public static void main(String[] args) throws Exception {
    Shape loaded = new Square();
    System.out.println("ready");
    if (args.length > 0) System.exit(args[0].equals("fails") ? 3 : 0);
    while (System.in.available() == 0) { used(); Thread.sleep(10); }
  }
  static class NeverLoaded { static void work() {} }
}`
const LINE_OF_NEVER = IDLE.split('\n').findIndex((line) => line.includes('sink--')) + 1

const CALLED = ['--root', 'fix.Idle.used']
const NEVER = ['--root', 'fix.Idle.never']

type Case = readonly [name: string, args: readonly string[], status: number, said: RegExp]

const RECORDINGS: readonly Case[] = [
  [
    'whose class is never loaded',
    ['--root', 'fix.Idle.NeverLoaded.work'],
    STATUS.rootNotFound,
    /not found: no class .*\n {2}(Check|Try)/,
  ],
  [
    'that is misspelt',
    ['--root', 'fix.Idle.usde'],
    STATUS.rootNotFound,
    /no such method in fix\.Idle\n {2}Try --root 'fix\.Idle\.used'/,
  ],
  [
    'that is abstract',
    ['--root', 'fix.Idle.Shape.sides'],
    STATUS.rootWithoutCode,
    /is abstract: .*\n {2}Name an implementation/,
  ],
  [
    'that is native',
    ['--root', 'fix.Idle.nativeOnly'],
    STATUS.rootWithoutCode,
    /is native: .*\n {2}Name a Java method/,
  ],
  ...['exact', 'locks', 'count', 'bytecodes', 'alloc'].map(
    (mode): Case => [
      `that is never called, --mode ${mode}`,
      [...NEVER, '--mode', mode],
      STATUS.rootNeverCalled,
      /no root was called: fix\.Idle\.never\n {2}Name a method that the program calls; jfluid why \d+ /,
    ],
  ),
  [
    'that is never called, --scheme adaptive',
    [...NEVER, '--scheme', 'adaptive'],
    STATUS.rootNeverCalled,
    /no root was called: .*\n {2}Name a method/,
  ],
  [
    'that is never seen in a sample',
    [...NEVER, '--mode', 'sample'],
    STATUS.rootNeverCalled,
    /no thread was found .*\n {2}\w.* jfluid doctor \d+/,
  ],
  [
    'and no class that matches --include',
    [...CALLED, '--include', 'none.**', '--duration', '1s'],
    STATUS.patternMatchedNothing,
    /no class matched --include none\.\*\*\n {2}Check/,
  ],
  [
    'in lines that are not executed',
    ['--region', `fix.Idle.never:${LINE_OF_NEVER}`],
    STATUS.rootNeverCalled,
    /no region was executed: .*\n {2}Name lines/,
  ],
]

function expectError({ code, stderr }: Ran, status: number, said: RegExp): void {
  expect(code, stderr).toBe(status)
  expect(stderr).toMatch(new RegExp(`^jfluid: .*${said.source}.*\\n$`, 'm'))
  expect(stderr).not.toMatch(/^ {4}at /m)
}

forNewestJdk((jdk) => {
  const file = (): string => join(temporaryDirectory(), 'p.jfluid')
  let classes: string
  let java: JavaProcess
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Idle': IDLE })
    java = startJava(jdk, ['-cp', classes, 'fix.Idle'])
    await java.line(/^ready/)
  })
  afterAll(async () => {
    java.send('quit')
    await java.exit
  })

  it.each(FULL ? RECORDINGS : RECORDINGS.slice(0, 4))(
    'the error of jfluid record states the reason and the next step for a root %s',
    async (_, args, status, said) => {
      expectError(
        await jfluid('record', `${java.pid}`, '--duration', '300ms', ...args, '--out', file()),
        status,
        said,
      )
    },
  )

  itInFull('commands refuse the file of an empty recording', async () => {
    const empty = file()
    await jfluid('record', `${java.pid}`, ...NEVER, '--mode', 'count', '--duration', '100ms', '--out', empty)
    const why = /is empty, because no root was called\n {2}Record again/
    expectError(await jfluid('report', empty), STATUS.corruptOrForeignFile, why)
    for (const format of ['html', 'speedscope']) {
      const out = `${empty}.${format}`
      expectError(
        await jfluid('export', empty, '--format', format, '--out', out),
        STATUS.corruptOrForeignFile,
        why,
      )
      expect(existsSync(out)).toBe(false)
    }
    expectError(await jfluid('push', empty, '--to', 'http://127.0.0.1:9'), STATUS.corruptOrForeignFile, why)
    expectError(
      await jfluid('compare', empty, empty),
      STATUS.corruptOrForeignFile,
      /no call of a root\n {2}Record again/,
    )
    expectError(
      await jfluid('gate', empty, empty),
      STATUS.corruptOrForeignFile,
      /no call of the root\n {2}Record while/,
    )
    const terminal = Terminal.jfluid(['open', empty])
    expect((await terminal.exit).code).toBe(STATUS.corruptOrForeignFile)
  })

  it('key q in a live view that has recorded nothing exits with 83', async () => {
    const terminal = Terminal.jfluid(['attach', `${java.pid}`, ...NEVER])
    await terminal.until((lines) => /^ jfluid /.test(lines[0]!))
    terminal.send('q')
    expect((await terminal.exit).code).toBe(STATUS.rootNeverCalled)
  })

  describe('jfluid run without recorded calls', () => {
    const run = (args: readonly string[], command: readonly string[]): Promise<Ran> =>
      jfluid('run', '--record', file(), ...args, '--', ...command)
    const idle = (...args: string[]): string[] => [jdk.java, '-cp', classes, 'fix.Idle', ...args]

    it.each<Case>([
      [
        'that ends before the root is called',
        NEVER,
        STATUS.rootNeverCalled,
        /no root was called: fix\.Idle\.never\n {2}Name a method .* jfluid run --mode sample/,
      ],
      [
        'that never loads the class of the root',
        ['--root', 'fix.Idle.NeverLoaded.work'],
        STATUS.rootNotFound,
        /not found: no class .*\n {2}/,
      ],
      [
        'that ends before a sample is taken',
        [...NEVER, '--mode', 'sample'],
        STATUS.rootNeverCalled,
        /no thread was found (?:running Java code|inside fix\.Idle\.never).*\n {2}Sample/,
      ],
    ])('jfluid run reports an error for a program %s', async (_, args, status, said) => {
      expectError(await run(args, idle('ends')), status, said)
    })

    itInFull(
      'jfluid run exits with the status of a program that fails, even if nothing was recorded',
      async () => {
        const { code, stderr } = await run(NEVER, idle('fails'))
        expect([code, stderr]).toEqual([3, expect.stringContaining('warning: no root was called')])
      },
    )

    itInFull(
      'if only a second JVM of the program calls the root, the hint of the error is a command that records that JVM',
      async () => {
        const forks = await compileFixture(jdk, 'Forks')
        const job = ['--root', 'fix.ForkedJob.work']
        const direct = [jdk.java, '-cp', forks, 'fix.Forks']
        const said =
          /no call of fix\.ForkedJob\.work was recorded in JVM \d+, and the program has started further JVMs, which are not profiled: fix\.ForkedJob\n {2}Add --jvm fix\.ForkedJob before --, or use jfluid record --wait-for fix\.ForkedJob --root fix\.ForkedJob\.work --out further\.jfluid/
        expectError(await run(job, direct), STATUS.rootNeverCalled, said)
        expectError(await run([...job, '--mode', 'sample'], direct), STATUS.rootNeverCalled, said)

        const out = file()
        const asked = ['--wait-for', 'fix.ForkedJob', ...job, '--duration', '10m', '--out', out, ...AUTOSAVED]
        const client = startJfluid('record', ...asked)
        await stderrLine(client, /waiting for a JVM/)
        const program = startJava(jdk, [...direct.slice(1), 'long'])
        await recordedSoFar({ process: client, file: out })
        client.child.kill('SIGINT')
        expect((await client.exit).code, client.stderr()).toBe(0)
        program.send('quit')
        await program.exit
        expect((await readProfileJson(out)).merged[0]?.calls).toBeGreaterThan(0)
      },
    )
  })
})
