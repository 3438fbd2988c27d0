// A program with names of classes, methods and threads that contain terminal escapes, HTML and spreadsheet formulas,
// through all commands, with a real JVM.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { decodeModifiedUtf8, encodeModifiedUtf8 } from '../../src/classfile/utf8.ts'
import { formats } from '../../src/export/formats.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, readProfileJson, startJfluid } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'

/**
 * Terminal controls without ; and [, since names cannot contain these two characters: reset, colour and title by one character each, bidi
 * controls.
 */
const ORDERS = '\x1bc\x9b31m\x9d0\x07\r\n\t\b\x7f\u202e\u2066\u2028'
const METHOD = `=1+1${ORDERS}"'&{{7*7}}`
const CLASS = `${METHOD}<img src=x onerror=alert(1)>`
const THREAD = `@SUM(A1)\x1b]0;title\x07\x1b[2J${ORDERS}</script><script>alert(1)</script>`

/** None of these controls may be in the output. The screens of jfluid do not use them. */
const OBEYED = /\x1bc|\x1b\]0;title|[\x00-\x07\x0b\x0e-\x1a\x7f-\x9f\u202e\u2066\u2028]/

/** The program loads the class from bytes, and starts a thread with that name. It prints "ready". */
const HOST = `
  package fix;
  import java.lang.invoke.MethodHandles;
  import java.nio.file.*;
  public class Host {
    public static void main(String[] args) throws Exception {
      Class<?> evil = MethodHandles.lookup().defineClass(Files.readAllBytes(Path.of(args[0])));
      Runnable work = (Runnable) evil.getDeclaredConstructor().newInstance();
      Thread thread = new Thread(() -> { for (;;) { step(work); } }, new String(Files.readAllBytes(Path.of(args[1])), "UTF-8"));
      thread.setDaemon(true);
      thread.start();
      System.out.println("ready");
      while (System.in.read() >= 0) { }
    }
    static void step(Runnable work) {
      work.run();
      try { Thread.sleep(1); } catch (InterruptedException e) { throw new IllegalStateException(e); }
    }
  }`
const EVIL = `
  package fix;
  public class EvilClass implements Runnable {
    static volatile int sink;
    public void run() { evilMethod(3); }
    static void evilMethod(int n) { sink += n; if (n > 0) evilMethod(n - 1); }
  }`

/** Returns the class file with other strings in its constant pool. */
function renamed(bytes: Uint8Array, names: ReadonlyMap<string, string>): Buffer {
  const file = Buffer.from(bytes)
  const out = [file.subarray(0, 10)]
  let at = 10
  for (let i = 1; i < file.readUInt16BE(8); i++) {
    const tag = file[at]!
    const length =
      tag === 1
        ? 3 + file.readUInt16BE(at + 1)
        : [3, 4, 9, 10, 11, 12, 17, 18].includes(tag)
          ? 5
          : tag === 15
            ? 4
            : tag === 5 || tag === 6
              ? 9
              : 3
    const entry = file.subarray(at, at + length)
    const other = tag === 1 ? names.get(decodeModifiedUtf8(entry, 3, length)) : undefined
    if (other === undefined) out.push(entry)
    else {
      const text = encodeModifiedUtf8(other)
      out.push(Buffer.from([1, text.length >> 8, text.length & 0xff]), Buffer.from(text))
    }
    if (tag === 5 || tag === 6) i++
    at += length
  }
  return Buffer.concat([...out, file.subarray(at)])
}

async function start(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, { 'fix/Host': HOST, 'fix/EvilClass': EVIL })
  const file = join(temporaryDirectory(), 'evil')
  const names = new Map([
    ['fix/EvilClass', `fix/${CLASS}`],
    ['evilMethod', METHOD],
  ])
  writeFileSync(file, renamed(readFileSync(join(classes, 'fix/EvilClass.class')), names))
  writeFileSync(`${file}-thread`, THREAD)
  const java = startJava(jdk, ['-cp', classes, 'fix.Host', file, `${file}-thread`])
  await java.line(/^ready/)
  return java
}

/** Keys, the text that each shows, and whether the view is closed before the next key. */
const VIEWS: readonly (readonly [keys: string, opened: RegExp, isClosed?: 'closed'])[] = [
  ['j', / 2 of \d+$/],
  ['m', /▾self .* method$/],
  ['T', /% all .*thread/],
  ['f', /^ flame graph of time/],
  ['c', /method, with callers/],
  ['i', /code change/],
  ['L', /^ timeline, one bar:/],
  ['C', /traced calls; start: since the call began/],
  ['t', /▾total .*% root .* method$/],
  ['S', /slow call/, 'closed'],
  ['P', /^ rows are packages/],
  ['PP', /▾total .*% root .* method$/],
  ['?', /detach and quit/, 'closed'],
  ['/=1\r', /^ "=1": \d+ found/],
  ['g', / 1 of \d+$/],
  ['n', / 2 of \d+$/],
  ['X', /- excluded, \+ added/, 'closed'],
  ['s', /^ write to /, 'closed'],
  ['e', /format +description/, 'closed'],
  ['y', /^ sent to the terminal's clipboard/],
  ['r', /make .* the root and reset to zero\?/, 'closed'],
  ['x', /exclude .* and methods that only it calls\?/, 'closed'],
]

forEachJdk((jdk) => {
  it('hostile names are harmless in the output of commands', { timeout: 180_000 }, async () => {
    const java = await start(jdk)
    const pid = String(java.pid)
    const file = join(temporaryDirectory(), 'p.jfluid')
    const wrong: string[] = []
    const looked = (what: string, ...texts: readonly string[]): void => {
      for (const text of texts) {
        const found = OBEYED.exec(text)
        if (found !== null)
          wrong.push(`${what}: ${JSON.stringify(text.slice(found.index - 60, found.index + 40))}`)
      }
    }
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await jfluid(...args)
      expect(code, `${args} ${stderr}`).toBe(0)
      looked(args.join(' '), stdout, stderr)
      return stdout
    }
    const root = ['--root', 'fix.Host.step', '--root', 'fix.*.run']
    const client = startJfluid(...['record', pid, ...root, '--trace', '3', '--duration', '2s', '--out', file])
    expect((await client.exit).code, client.stderr()).toBe(0)
    looked('record', client.stdout(), client.stderr())
    const { methods, threads } = await readProfileJson(file)
    // The profile contains the class, the method and the thread under their own names.
    expect(methods.map((it) => it.class)).toContain(`fix.${CLASS}`)
    expect(methods.map((it) => it.method)).toContain(METHOD)
    expect(threads.map(({ name }) => name)).toContain(THREAD)
    for (const more of [[], ['--json'], ['--threads'], ['--trace', '1'], ['--back-traces', 'Host.step']])
      await run('report', file, ...more)
    for (const { name, isBinary } of formats) {
      const text = await run(
        'export',
        file,
        '--format',
        name,
        ...(isBinary ? ['--out', `${file}-${name}`] : []),
      )
      if (name === 'html') expect(text).not.toMatch(/<img src=x|<script>alert/)
      if (name === 'csv') expect(text).not.toMatch(/(^|[,;"\n])[=@]/)
    }
    for (const more of [[], ['--json'], ['--html', `${file}.html`]]) await run('compare', file, file, ...more)
    expect(readFileSync(`${file}.html`, 'utf8')).not.toMatch(/<img src=x|<script>alert/)
    for (const more of [[], ['--json']]) {
      await run('ps', ...more)
      await run('doctor', pid, ...more, '--root', 'fix.Host.step')
      await run('why', pid, ...more)
    }
    for (const args of [
      ['record', pid, '--root', `fix.Host.${METHOD}`, '--duration', '1s', '--out', file],
      ['record', pid, '--root', 'fix.Hots.step', '--duration', '1s', '--out', file],
      ['report', `${file}${ORDERS}`],
      ['attach', THREAD],
    ]) {
      const { code, stdout, stderr } = await jfluid(...args)
      expect(code).not.toBe(0)
      looked(args.join(' '), stdout, stderr)
    }
    expect(wrong).toEqual([])
    await java.kill()
  })

  it('hostile names are harmless in every view', { timeout: 180_000 }, async () => {
    const java = await start(jdk)
    const terminal = Terminal.jfluid(['attach', String(java.pid), '--root', 'fix.Host.step'], {
      columns: 160,
      rows: 40,
    })
    await terminal.until((lines) => lines.some((it) => it.includes('alert(1)')))
    for (const [keys, opened, isClosed] of VIEWS) {
      const shows = (lines: string[]) => lines.some((it) => opened.test(it))
      terminal.send(keys)
      await terminal.until(shows).catch((problem: unknown) => {
        throw new Error(`after ${JSON.stringify(keys)}: ${problem}`)
      })
      if (isClosed === undefined) continue
      terminal.send('\x1b')
      await terminal.until((lines) => !shows(lines))
    }
    terminal.send('q')
    await terminal.until((lines) => lines.some((it) => /restored/.test(it)))
    const found = OBEYED.exec(terminal.written().replaceAll(/\x1b\]52;c;[\w+/=]*\x07/g, ''))
    expect(found && JSON.stringify(terminal.written().slice(found.index - 60, found.index + 40))).toBeNull()
    await java.kill()
  })
})
