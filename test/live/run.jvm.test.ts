// jfluid run: a JVM is profiled from its first application class on, and its behaviour is unchanged.

import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll, oldest } from '../support/jdks.ts'
import {
  callsByMethod,
  callsByPath,
  calmWarnings,
  jfluid,
  lines,
  readProfileJson,
  startJfluid,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'

// The expected counts were determined manually. Parent and Start are initialized before main is entered, and Lazy is initialized inside
// main.
const START = `
package fix;
public class Start {
  static final Start FIRST = new Start(1);
  static { touch(FIRST); }
  final int value;
  Start(int value) { this.value = Math.max(value, 0); }
  static void touch(Start s) { if (s == null) throw new Error(); }
  public static void main(String[] args) throws Exception {
    Runnable task = () -> touch(new Start(2));
    task.run();
    for (int i = 0; i < 3; i++) Lazy.use(i);
    if (new Square().sides() != 4) throw new Error();
    System.err.println("to stderr");
    System.out.println("to stdout " + String.join(",", args));
    if (args.length > 0 && args[0].equals("kill")) {
      new ProcessBuilder("kill", "-KILL", String.valueOf(ProcessHandle.current().pid())).start();
      Thread.sleep(60_000);
    }
    if (args.length > 0) System.exit(Integer.parseInt(args[0]));
  }
  static abstract class Shape { abstract int sides(); native int area(); }
  static class Square extends Shape { int sides() { return 4; } }
  static class Lazy {
    static final int BASE;
    static { BASE = base(); }
    static int base() { return 7; }
    static int use(int i) { return BASE + i; }
  }
}`

/** Returns the given scheme, or both schemes in the full lane. */
const schemes = (one: 'a' | 'b') => (FULL ? ['a', 'b'] : [one])

describe.each(newestOrAll)('jfluid run with JDK $version', (jdk) => {
  let classes: string
  const file = (): string => join(temporaryDirectory(), 'p.jfluid')
  beforeAll(async () => {
    classes = await compileJava(jdk, { 'fix/Start.java': START })
  })

  it.each(schemes('b'))('scheme %s: main and class initializers are recorded completely', async (scheme) => {
    const out = file()
    const { code, stdout, stderr } = await jfluid(
      ...['run', '--root', 'fix.Start.main', '--root', 'fix.Start.<clinit>', '--scheme', scheme],
      ...['--record', out, '--', jdk.java, '-cp', classes, 'fix.Start'],
    )
    expect(code, stderr).toBe(0)
    expect(stdout).toBe('to stdout \n')
    expect(stderr).toMatch(/^to stderr$/m)
    expect(stderr).toContain(`profile written to ${out}`)
    const profile = await readProfileJson(out)
    expect(lines(callsByPath(profile.merged))).toEqual(
      [
        'fix.Start.<clinit>()V 1',
        'fix.Start.<clinit>()V;fix.Start.<init>(I)V 1',
        'fix.Start.<clinit>()V;fix.Start.touch(Lfix/Start;)V 1',
        'fix.Start.main([Ljava/lang/String;)V 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start$Lazy.<clinit>()V 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start$Lazy.<clinit>()V;fix.Start$Lazy.base()I 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start$Lazy.use(I)I 3',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start$Square.<init>()V 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start$Square.<init>()V;fix.Start$Shape.<init>()V 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start$Square.sides()I 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start.lambda$main$0()V 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start.lambda$main$0()V;fix.Start.<init>(I)V 1',
        'fix.Start.main([Ljava/lang/String;)V;fix.Start.lambda$main$0()V;fix.Start.touch(Lfix/Start;)V 1',
      ].sort(),
    )
    expect(profile).toMatchObject({ truncated: false, target: { mainClass: 'fix.Start' } })
    expect(calmWarnings(profile.warnings)).toEqual([])
  })

  it.each(schemes('a'))(
    'scheme %s: stdin is passed to the program, and calls are exact from the start',
    async (scheme) => {
      const out = file()
      const program = [jdk.java, '-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '3', '20']
      const p = startJfluid(
        ...['run', '--root', 'KnownTree.task', '--scheme', scheme, '--record', out, '--', ...program],
      )
      await p.line(/ready/)
      p.send('run 1')
      await p.line(/done/)
      p.send('expect')
      await p.line(/^end/)
      p.child.stdin?.end()
      expect((await p.exit).code).toBe(0)
      const profile = await readProfileJson(out)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(p.stdout())))
      // The program's output contains only its answers and the tree, and no line of jfluid.
      expect(
        p
          .stdout()
          .split('\n')
          .filter((line) => !/^(fix\.\S+ \d+|ready|done|end|)$/.test(line)),
      ).toEqual([])
      expect(profile.instrumentation.gaps).toBe(0)
    },
  )

  it('callbacks from the JDK are counted from the start', async () => {
    const out = file()
    const program = [jdk.java, '-cp', await compileFixture(jdk, 'Callbacks'), 'fix.Callbacks']
    const p = startJfluid('run', '--root', 'fix.Callbacks.root', '--record', out, '--', ...program)
    for (const line of ['run', 'expect', 'quit']) p.send(line)
    expect((await p.exit).code).toBe(0)
    expect(lines(callsByMethod(await readProfileJson(out)))).toEqual(lines(parseExpectation(p.stdout())))
  })

  // run-signals.jvm.test.ts tests other ends of a program.
  it('the exit status of a killed program is 137, and its profile is saved', async () => {
    const out = file()
    const { code, stdout } = await jfluid(
      ...['run', '--root', 'fix.Start.main', '--record', out],
      ...['--', jdk.java, '-cp', classes, 'fix.Start', 'kill'],
    )
    expect({ code, stdout }).toEqual({ code: 137, stdout: 'to stdout kill\n' })
    expect(callsByMethod(await readProfileJson(out)).get('fix.Start$Lazy.use(I)I')).toBe(3)
  })

  it('a JVM that a shell script starts is found and profiled', async () => {
    const dir = temporaryDirectory()
    const script = join(dir, 'app')
    writeFileSync(script, `#!/bin/sh\necho before\n"${jdk.java}" -cp "${classes}" fix.Start "$@"\nexit 5\n`)
    chmodSync(script, 0o755)
    const out = file()
    const { code, stdout, stderr } = await jfluid(
      ...['run', '--root', 'fix.Start.main', '--record', out, '--', script, '0'],
    )
    expect({ code, stdout }).toEqual({ code: 5, stdout: 'before\nto stdout 0\n' })
    expect(stderr).toMatch(/profile written/)
    const profile = await readProfileJson(out)
    expect(callsByMethod(profile).get('fix.Start$Lazy.use(I)I')).toBe(3)
    expect(calmWarnings(profile.warnings)).toEqual([])
    expect(profile.target.mainClass).toBe('fix.Start')
  })

  it('a root that is never called gives an empty profile with a message', async () => {
    const out = file()
    const { code, stderr } = await jfluid(
      ...['run', '--root', 'fix.Never.there', '--record', out, '--', jdk.java, '-cp', classes, 'fix.Start'],
    )
    expect(code, stderr).toBe(STATUS.rootNotFound)
    expect(stderr).toMatch(
      /^jfluid: root 'fix\.Never\.there' not found: no class that was loaded until the end /m,
    )
    expect(stderr).toMatch(/^root fix\.Never\.there: its class is not loaded yet; waiting for it$/m)
    expect(stderr).toMatch(/^warning: no root was called; the class of fix\.Never\.there was never loaded$/m)
    const profile = await readProfileJson(out)
    expect([profile.merged, profile.threads.flatMap((it) => it.roots)]).toEqual([[], []])
    expect((await jfluid('report', out)).stdout).toMatch(/no root was called/)
  })

  const LACKING = [
    ['fix.Start.man', "not found: no such method in fix.Start. Try --root 'fix.Start.main'"],
    [
      'Start.main(int)',
      "not found: no such method in fix.Start. Try --root 'fix.Start.main(java.lang.String[])'",
    ],
    [
      'Start.Shape.sides',
      "is abstract: it has no bytecode to instrument. Name an implementation of the method: --root 'fix.Start.Square.sides'",
    ],
    [
      'Start.Shape.area',
      'is native: it has no bytecode to instrument. Name a Java method that calls this method.',
    ],
  ] as const

  it('missing root methods are reported and do not affect the program', async () => {
    const out = file()
    const { code, stdout, stderr } = await jfluid(
      ...['run', ...LACKING.flatMap(([root]) => ['--root', root])],
      ...['--record', out, '--', jdk.java, '-cp', classes, 'fix.Start'],
    )
    expect(code, stderr).toBe(STATUS.rootNotFound)
    expect(stdout).toBe('to stdout \n')
    const warnings = ['no root was called', ...LACKING.map(([root, problem]) => `root '${root}' ${problem}`)]
    expect(stderr.match(/(?<=^warning: ).*$/gm)).toEqual(warnings)
    expect(calmWarnings((await readProfileJson(out)).warnings)).toEqual(warnings)
    expect(stderr).not.toMatch(/never loaded/)
  })
})

describe('a command that jfluid run cannot profile', () => {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const run = (...command: string[]) => jfluid('run', '--root', 'A.b', '--record', out, '--', ...command)

  it('a missing program is reported', async () => {
    const { code, stdout, stderr } = await run('/no/such/program')
    expect({ code, stdout }).toEqual({ code: 66, stdout: '' })
    expect(stderr).toBe(
      'jfluid: cannot start /no/such/program: the program was not found\n' +
        '  Check the command after --, for example: jfluid run --root Foo.main -- java -jar app.jar\n',
    )
  })

  it('a program that is not executable is reported', async () => {
    const { code, stderr } = await run(temporaryDirectory())
    expect(code).toBe(66)
    expect(stderr).toMatch(/^jfluid: cannot start .*\n {2}Check the command/)
    expect(stderr).not.toMatch(/^ +at /m)
  })

  it('a program that starts no JVM is reported', async () => {
    const { code, stdout, stderr } = await run('sh', '-c', 'echo hello')
    expect({ code, stdout }).toEqual({ code: 69, stdout: 'hello\n' })
    expect(stderr).toMatch(/^jfluid: .* ended and started no JVM .*\n {2}Give a command/m)
  })

  it('a program that starts no JVM and fails is reported, and the exit code is that of the program', async () => {
    const { code, stderr } = await run('sh', '-c', 'exit 4')
    expect(code).toBe(4)
    expect(stderr).toMatch(/^jfluid: .* ended and started no JVM .*\n {2}Give a command/m)
  })

  it('a JVM that does not start is reported', async () => {
    const { code, stderr } = await run(oldest.java, '-XX:NoSuchOption')
    expect(code).toBe(1)
    expect(stderr).toMatch(/Unrecognized VM option/)
    expect(stderr).toMatch(/^jfluid: .* ended and started no JVM/m)
  })

  it('a failed run leaves no profile', () => expect(existsSync(out)).toBe(false))
})

const demo = new URL('../../examples/demo.mjs', import.meta.url).pathname

itInFull('npm run demo without a terminal prints the report and exits with 0', async () => {
  const p = startProcess(process.execPath, [demo], { detached: true })
  expect((await p.exit).code, p.stderr()).toBe(0)
  expect(p.stdout()).toMatch(/^jfluid profile of shop\.Main$/m)
  expect(p.stdout()).toMatch(/^Hot methods/m)
  expect(p.stdout()).toMatch(/shop\.OrderService\.process/)
})
