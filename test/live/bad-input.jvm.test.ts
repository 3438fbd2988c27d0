// Bad input: a message that names the error, a hint, a specific exit code, no stack trace, and no files left behind.

import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import {
  ask,
  compileJava,
  type JavaOptions,
  type JavaProcess,
  readableByAll,
  startJava,
  startProcess,
  temporaryDirectory,
} from '../support/java-process.ts'
import { newestOrAll, oldest } from '../support/jdks.ts'
import {
  calmWarnings,
  jfluid,
  type Ran,
  readProfileJson,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { expectRefusal } from '../support/refusal.ts'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const itAsRoot = itOnlyIf(process.getuid?.() === 0, 'needs root')
/** User id 65534 is the account `nobody` in most Linux distributions. User id 64999 has no account. */
const NOBODY = { uid: 65534, gid: 65534 }
const STRANGER = { uid: 64999, gid: 64999 }

const SOON = `
package fix;
public class Soon {
  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    while (System.in.read() >= 0) if (System.in.available() == 0) System.out.println("loaded " + new Square().sides());
  }
  static abstract class Shape { abstract int sides(); native int sites(); int inside() { return 1; } }
  static class Square extends Shape { int sides() { return 4; } }
}`

/** Invalid roots of the class above. */
const LATE: readonly { root: string; status: number; problem: string }[] = [
  {
    root: 'Shape.sides',
    status: STATUS.rootWithoutCode,
    problem:
      "is abstract: it has no bytecode to instrument\n  Name an implementation of the method: --root 'fix.Soon.Square.sides'",
  },
  {
    root: 'fix.Soon.Shape.side',
    status: STATUS.rootNotFound,
    problem: "not found: no such method in fix.Soon.Shape\n  Try --root 'fix.Soon.Shape.inside'",
  },
  {
    root: 'fix.Soon$Shape.sites',
    status: STATUS.rootWithoutCode,
    problem: 'is native: it has no bytecode to instrument\n  Name a Java method that calls this method.',
  },
]

async function jfluidAs(options: JavaOptions, ...args: string[]): Promise<Ran> {
  const p = startProcess(process.execPath, [cli, ...args], options)
  const { code } = await p.exit
  return { code, stdout: p.stdout(), stderr: p.stderr() }
}

const ours = (): string[] =>
  ['/dev/shm', '/tmp']
    .flatMap((dir) => readdirSync(dir).map((name) => join(dir, name)))
    .filter((path) => /\/(?:jfluid-\d+-\d+-[^/]{6}|\.jfluid_pid\d+|\.attach_pid\d+)$/.test(path))
    .sort()

describe('a process that cannot be profiled', () => {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const record = (...args: string[]) => jfluid('record', ...args, '--out', out)

  it('the id of a process that does not exist is refused', async () => {
    const gone = startProcess('true', [])
    await gone.exit
    const ran = await record(String(gone.pid), '--root', 'A.b')
    expectRefusal(ran, STATUS.noSuchProcess, /no such process/, /jfluid ps/)
  })

  it('a process that is not a JVM is refused', async () => {
    const sleep = startProcess('sleep', ['60'])
    const ran = await record(String(sleep.pid), '--root', 'A.b')
    expectRefusal(ran, STATUS.notAJvm, /sleep is not a JVM/, /jfluid ps/)
  })

  itAsRoot('a process that its own user cannot inspect is refused as a process that is no JVM', async () => {
    // On Linux only root can inspect a program that its user can execute but not read.
    const dir = temporaryDirectory()
    chmodSync(dir, 0o755)
    const hidden = join(dir, 'hidden')
    copyFileSync('/bin/sleep', hidden)
    chmodSync(hidden, 0o711)
    const p = startProcess(hidden, ['60'], NOBODY)
    const ran = await jfluidAs(NOBODY, 'record', String(p.pid), '--root', 'A.b', '--out', '/tmp/never.jfluid')
    expectRefusal(ran, STATUS.notAJvm, /hidden is not a JVM/, /jfluid ps/)
    expect(ran.stderr).not.toMatch(/SIGQUIT/)
    expect(p.child.exitCode).toBe(null)
  })

  it('refused commands create no output file', () => expect(existsSync(out)).toBe(false))
})

it('errors in command-line arguments have a specific exit status and a hint', async () => {
  const missing = join(temporaryDirectory(), 'missing')
  const [unknown, format, file] = await Promise.all([
    jfluid('atach', '1'),
    jfluid('export', missing, '--format', 'pdf'),
    jfluid('report', missing),
  ])
  expectRefusal(unknown, 64, /unknown command 'atach'/, /attach|--help/)
  expectRefusal(format, 64, /--format <name>' argument 'pdf' is invalid/, /json, csv, collapsed/)
  expectRefusal(file, STATUS.fileNotFound, /no such file/, /jfluid record/)
})

describe('commands without a usable terminal', () => {
  /** Runs `jfluid attach` for a process that is not a JVM, in a shell on a terminal created by script(1). */
  async function attachOnTerminal(before: string, after: string, TERM: string) {
    const attach = `${before} "${process.execPath}" "${cli}" attach ${process.pid} --root A.b ${after}`
    const p = startProcess('script', ['-qec', attach, '/dev/null'], { env: { TERM } })
    const { code } = await p.exit
    return { code, said: p.stdout().replaceAll('\r', '') }
  }

  it('attach requires a terminal for output and suggests jfluid record', async () => {
    expectRefusal(
      await jfluid('attach', '1', '--root', 'A.b'),
      ...([STATUS.noTerminal, /needs a terminal, and the standard output/, /jfluid record/] as const),
    )
  })

  it('attach requires a terminal for keyboard input', async () => {
    const { code, said } = await attachOnTerminal('', '</dev/null', 'xterm')
    expect(code, said).toBe(STATUS.noTerminal)
    expect(said).toMatch(
      /^jfluid: .*needs a terminal, and the standard input is not a terminal\n {2}.*jfluid record/m,
    )
  })

  it('attach refuses a dumb terminal', async () => {
    const { code, said } = await attachOnTerminal('', '', 'dumb')
    expect(code, said).toBe(STATUS.terminalTooSmall)
    expect(said).not.toContain('\x1b')
    expect(said).toMatch(/^jfluid: .*type "dumb"\n {2}Set TERM .*jfluid record/m)
  })

  it('attach refuses a terminal that is too small and prints its size', async () => {
    const { code, said } = await attachOnTerminal('stty cols 79 rows 30;', '', 'xterm')
    expect(code, said).toBe(STATUS.terminalTooSmall)
    expect(said).toMatch(
      /^jfluid: .* 80 columns and 24 rows; this terminal has 79 and 30\n {2}Enlarge the terminal/m,
    )
    expect(said).not.toContain('\x1b')
    // A large enough terminal is accepted, and then the process is refused because it is not a JVM.
    const large = await attachOnTerminal('stty cols 80 rows 24;', '', 'xterm')
    expect(large.code, large.said).toBe(STATUS.notAJvm)
  })

  it('jfluid run without --record requires a terminal before it starts the program', async () => {
    const dir = temporaryDirectory()
    const ran = await jfluid('run', '--root', 'A.b', '--', 'touch', join(dir, 'started'))
    expectRefusal(ran, STATUS.noTerminal, /needs a terminal/, /record/)
    expect(readdirSync(dir)).toEqual([])
  })
})

describe.each(newestOrAll)('a target on JDK $version', (jdk) => {
  /** Only leftovers of these targets are checked, since other tests may have created leftovers at the same time. */
  const targets: number[] = []
  afterEach(() => {
    const left = ours().filter((path) => targets.includes(Number(/_pid(\d+)$/.exec(path)?.[1])))
    expect(left).toEqual([])
  })

  const out = join(temporaryDirectory(), 'p.jfluid')
  const start = async (options: readonly string[] = [], as: JavaOptions = {}) => {
    const compiled = await compileFixture(jdk, 'Callbacks')
    const classes = as.uid === undefined ? compiled : readableByAll(compiled)
    const java = startJava(jdk, [...options, '-cp', classes, 'fix.Callbacks'], as)
    targets.push(java.pid)
    await java.line(/ready/)
    return java
  }
  const record = (pid: number, ...args: string[]) =>
    jfluid('record', String(pid), '--duration', '1ms', '--out', out, ...args)

  /** A JVM for tests that leave it unchanged. */
  let shared: JavaProcess
  beforeAll(async () => {
    shared = await start()
  })

  it('an attach to a JVM with attach disabled is refused, and the JVM receives no signal that would print a thread dump', async () => {
    const java = await start(['-XX:+DisableAttachMechanism'])
    expectRefusal(
      await record(java.pid, '--root', 'A.b'),
      ...([
        STATUS.attachDisabled,
        /started with -XX:\+DisableAttachMechanism/,
        /Restart.* --jdwp <host:port>/,
      ] as const),
    )
    java.send('run')
    await java.line(/done/)
    expect(java.stdout() + java.stderr()).not.toMatch(/Full thread dump/)
  })

  it('a missing method is refused with similar names, and the JVM continues', async () => {
    const java = shared
    expectRefusal(
      await record(java.pid, '--root', 'fix.Callbacks.rot'),
      ...([
        STATUS.rootNotFound,
        /root 'fix\.Callbacks\.rot' not found/,
        /Try --root 'fix\.Callbacks\.root'/,
      ] as const),
    )
    expectRefusal(
      await record(java.pid, '--root', 'Callbacks.root(int)'),
      ...([STATUS.rootNotFound, /not found/, /fix\.Callbacks\.root\(\)/] as const),
    )
    expectRefusal(
      await record(java.pid, '--root', 'fix.Callbacks.Size.of'),
      ...([STATUS.rootWithoutCode, /is abstract/, /'fix\.Callbacks\.Size\.1\.of'/] as const),
    )
    expectRefusal(
      await record(java.pid, '--root', 'java.lang.Object.hashCode'),
      ...([STATUS.rootWithoutCode, /is native/, /Java method/] as const),
    )
    expect(existsSync(out)).toBe(false)
    // The refused command left the JVM unchanged, so the JVM can be profiled.
    const recording = startRecording(java.pid, '--root', 'fix.Callbacks.root')
    await recording.started
    await ask(java, 'run', /^done \d+$/)
    await recording.end()
  })

  it('a root class that is never loaded is reported at the end of the recording, with similar names', async () => {
    // Both the root and the pattern are wrong: the root is reported.
    const ran = await record(shared.pid, '--root', 'fix.Calbacks.root', '--exclude', '*Unheard')
    const { stderr } = ran
    expectRefusal(
      ran,
      STATUS.rootNotFound,
      ...([
        /^jfluid: root 'fix\.Calbacks\.root' not found: no class that was loaded/m,
        /Try --root 'fix\.Callbacks\.root'/,
      ] as const),
    )
    expect(stderr).toMatch(
      /^root fix\.Calbacks\.root: its class is not loaded yet; waiting for it; similar loaded methods: fix\.Callbacks\.root/m,
    )
    expect(stderr).toMatch(
      /^warning: no root was called; the class of fix\.Calbacks\.root was never loaded$/m,
    )
    rmSync(out)
  })

  it.each((FULL ? LATE.map((it) => [it]) : [LATE]).map((roots) => [roots] as const))(
    'unusable roots in a class that is loaded later are reported when the class is loaded and at the end of the recording',
    async (roots) => {
      const java = startJava(jdk, ['-cp', await compileJava(jdk, { 'fix/Soon.java': SOON }), 'fix.Soon'])
      targets.push(java.pid)
      await java.line(/ready/)
      const recording = startRecording(java.pid, ...roots.flatMap(({ root }) => ['--root', root]))
      const { process: p, started, file } = recording
      await started
      const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      const told = roots.map(({ root, problem }) => `root '${root}' ${problem}`.replace('\n ', '.'))
      for (const { root } of roots) {
        const waits = `^root ${literally(root)}: its class is not loaded yet; waiting for it`
        await stderrLine(p, new RegExp(waits))
      }
      for (const it of told) expect(p.stderr()).not.toContain(it)
      java.send('load')
      await java.line(/^loaded 4$/)
      for (const it of told) await stderrLine(p, new RegExp(`^${literally(it)}$`))
      p.child.kill('SIGINT')
      // The error names the first root.
      const { root, status, problem } = roots[0]
      expect((await p.exit).code, p.stderr()).toBe(status)
      expect(p.stderr()).toContain(`jfluid: root '${root}' ${problem}\n`)
      expect(p.stderr()).not.toMatch(/never loaded|in vain/)
      expect(calmWarnings((await readProfileJson(file)).warnings)).toEqual(['no root was called', ...told])
      java.send('load')
      await java.line(/^loaded 4$/, 2)
    },
  )

  it('patterns that match no class are reported, and the profile is kept', async () => {
    const patterns = ['--include', 'com.nowhere.**', '--exclude', '*Unheard']
    const recording = startRecording(shared.pid, '--root', 'fix.Callbacks.root', ...patterns)
    await recording.started
    await ask(shared, 'run', /^done \d+$/)
    await recording.end(STATUS.patternMatchedNothing)
    const ran = {
      code: STATUS.patternMatchedNothing,
      stdout: recording.process.stdout(),
      stderr: recording.process.stderr(),
    }
    expectRefusal(
      ran,
      STATUS.patternMatchedNothing,
      ...([
        /^jfluid: no class matched --include com\.nowhere\.\*\*, --exclude \*Unheard$/m,
        /com\.foo\.\*\*/,
      ] as const),
    )
    const { stderr } = ran
    const { warnings } = await readProfileJson(recording.file)
    expect(calmWarnings(warnings)).toEqual(
      expect.arrayContaining([
        'no class matched --include com.nowhere.**',
        'no class matched --exclude *Unheard',
      ]),
    )
    expect(stderr).toMatch(/^warning: --include com\.nowhere\.\*\* matches no loaded class$/m)
    expect(stderr).toMatch(/^warning: --exclude \*Unheard matches no loaded class$/m)
  })

  itAsRoot('a JVM of another user is refused', async () => {
    const java = await start([], NOBODY)
    const ran = await jfluidAs(
      STRANGER,
      ...['record', String(java.pid), '--root', 'A.b', '--out', '/tmp/never.jfluid'],
    )
    expectRefusal(
      ran,
      STATUS.notOwner,
      /belongs to uid 65534, and jfluid runs as uid 64999/,
      /sudo -u '#65534'/,
    )
    const { stdout } = await jfluidAs(STRANGER, 'ps')
    expect(stdout).toMatch(new RegExp(`^${java.pid} .* no: belongs to uid 65534 `, 'm'))
    expect(existsSync('/tmp/never.jfluid')).toBe(false)
  })
})

describe('an output path that cannot be written', () => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(oldest, ['-cp', await compileFixture(oldest, 'Ticker'), 'fix.Ticker'])
    await java.line(/ready/)
  })

  it('if the output path is not writable, the profile is saved in another directory, which the message names', async () => {
    const tmp = temporaryDirectory()
    const missing = join(tmp, 'missing', 'p.jfluid')
    const record = ['record', String(java.pid), '--root', 'fix.Ticker.work', '--duration', '300ms', '--out']
    const ran = await jfluidAs({ env: { TMPDIR: tmp } }, ...record, '/dev/full')
    expectRefusal(
      ran,
      STATUS.cannotWrite,
      /cannot write .*no space left on the device; the profile is in /,
      /jfluid report /,
    )
    const elsewhere = /the profile is in (\S+)/.exec(ran.stderr)?.[1] ?? ''
    expect(elsewhere.startsWith(tmp)).toBe(true)
    expect((await jfluid('report', elsewhere)).stdout).toMatch(/fix\.Ticker\.work/)

    const exported = await jfluid('export', elsewhere, '--format', 'json', '--out', missing)
    expectRefusal(exported, STATUS.cannotWrite, /cannot write/, /--out/)
    mkdirSync(join(tmp, 'folder'))
    const folder = await jfluid('export', elsewhere, '--format', 'json', '--out', join(tmp, 'folder'))
    expectRefusal(folder, STATUS.cannotWrite, /cannot write/, /--out/)
  })

  it('if the output path becomes unwritable during the recording, the profile is saved in another directory', async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work')
    await recording.started
    mkdirSync(recording.file)
    recording.process.child.kill('SIGTERM')
    await stderrLine(recording.process, /the profile is in/)
    expect((await recording.process.exit).code).toBe(STATUS.cannotWrite)
    const [, elsewhere = ''] = /the profile is in (\S+)/.exec(recording.process.stderr()) ?? []
    expect(readFileSync(elsewhere).length).toBeGreaterThan(24)
    rmSync(join(elsewhere, '..'), { recursive: true })
  })
})

it('a build of the agent without a JDK reports the missing JDK', async () => {
  const build = fileURLToPath(new URL('../../backend-java/build.mjs', import.meta.url))
  const p = startProcess(process.execPath, [build], {
    env: { PATH: temporaryDirectory(), JAVA_HOME: undefined, JFLUID_JDKS: '/nowhere' },
  })
  expect((await p.exit).code).toBe(STATUS.jdkMissing)
  expect(p.stderr()).toBe(
    'jfluid: cannot build the agent: no JDK 17 or newer found (javac and jar)\n' +
      '  Install a JDK, or point JAVA_HOME at one, and run npm run build again.\n',
  )
})

it('no two errors have the same exit status', () => {
  const all = Object.values(STATUS)
  expect([...new Set<number>(all)]).toEqual(all)
  expect(all).not.toContain(0)
})
