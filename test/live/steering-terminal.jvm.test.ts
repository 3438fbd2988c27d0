// A session is changed with keys on a real pseudo-terminal. Checks the screen, and the code in the target.

import { expect, it } from 'vitest'
import { compileJava } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { exported, type Machine, machine } from './proxy.ts'
import { filesOf, threadNames, until } from './remains.ts'

/** root() calls middle() and other(), middle() calls only(), and only() calls a class that is excluded. */
const PROGRAM = {
  'fix/Steady': `
    package fix;
    public class Steady {
      static volatile long sink;
      static void root() { middle(); other(); }
      static void middle() { sink++; only(); }
      static void only() { sink++; fix.lib.Helper.help(); }
      static void other() { sink++; }
      public static void main(String[] args) throws Exception {
        new Thread(() -> { for (;;) { root(); java.util.concurrent.locks.LockSupport.parkNanos(200_000); } }).start();
        System.out.println("ready");
        System.in.read();
        System.exit(0);
      }
    }`,
  'fix/lib/Helper':
    'package fix.lib; public class Helper { static long helped; public static void help() { helped++; } }',
}

forNewestJdk((jdk) => {
  it('keys x, X, + and r change the screen and the installed probes', () => steered(jdk))
})

forNewestJdk((jdk) => {
  itInFull('keys x, X, + and r work in the same way for a JVM on another machine', () =>
    steered(jdk, machine()),
  )
})

/** @param there  the machine of the target; undefined: this machine */
async function steered(jdk: Jdk, there?: Machine): Promise<void> {
  const classes = await compileJava(jdk, PROGRAM)
  const { java, jvm } = await startDebuggable(jdk, ['-cp', classes, 'fix.Steady'])
  let code = await liveCode(jvm, 'Lfix/')
  // The first call loads the last class of the program.
  while (!code.has('Lfix/lib/Helper;.help()V')) code = await liveCode(jvm, 'Lfix/')
  const withProbes = async () =>
    probed(await liveCode(jvm, 'Lfix/'))
      .map((it) => /(\w+);\.(\w+)\(/.exec(it)!.slice(1).join('.'))
      .sort()

  const target = there === undefined ? `${java.pid}` : `ssh://there/${java.pid}`
  const args = ['attach', target, '--root', 'fix.Steady.root', '--exclude', 'fix.lib.*']
  const terminal = Terminal.jfluid(args, there === undefined ? {} : { before: exported(there.env) })
  const clients = terminal.processes()
  const shows = (...names: string[]) =>
    terminal.until((lines) => names.every((name) => lines.some((it) => it.endsWith(` ${name}`))))
  const says = (text: RegExp) => terminal.until((lines) => text.test(lines.slice(-2).join('\n')))
  /** Selects a method by search. Keys for a dialog may be sent only after this. */
  const select = async (method: string) => {
    terminal.send(`/${method}\r`)
    await terminal.until(() => terminal.selected()?.includes(`fix.Steady.${method}`))
  }
  // The view opens the row with the largest share, which may be another one.
  await shows('fix.Steady.middle')
  await select('middle')
  terminal.send('\x1b[C') // the key Right opens a row
  await shows('fix.Steady.middle', 'fix.Steady.only', 'fix.Steady.other')
  expect(await withProbes()).toEqual(['Steady.middle', 'Steady.only', 'Steady.other', 'Steady.root'])

  await select('middle')
  terminal.send('x')
  await says(/ exclude fix\.Steady\.middle\(\) and methods that only it calls\?/)
  terminal.send('\r')
  await says(/excluded: fix\.Steady\.middle\(\); also 1 method that only it called/)
  await shows('fix.Steady.middle (left out)', 'fix.Steady.only (left out)')
  expect(await withProbes()).toEqual(['Steady.other', 'Steady.root'])

  terminal.send('X')
  await terminal.until((lines) =>
    lines.some((it) => /^ +\S+ m?s +1 +1 {2}- fix\.Steady\.middle\(\)$/.test(it)),
  )
  terminal.send('\r')
  await terminal.until((lines) => lines.some((it) => /No exclusions or additions yet/.test(it)))
  await until(async () => (await withProbes()).length === 4)
  // The next change is possible only after this message. The list would hide the message, so it is closed first.
  terminal.send('\x1b')
  await says(/have probes again: fix\.Steady\.middle\(\)/)
  terminal.send('X')
  await terminal.until((lines) => lines.some((it) => /No exclusions or additions yet/.test(it)))

  terminal.send('+')
  await says(/ add ▏/)
  terminal.send('fix.lib.*\r')
  await says(/added: 1 method of fix\.lib\.\*/)
  // The node may have been a leaf when the tree was last expanded. After a search, only a key expands the node.
  await select('only')
  const calls = await terminal.until((lines) => lines.find((it) => / [▸▾] fix\.Steady\.only$/.test(it)))
  if (calls.includes('▸')) terminal.send('\x1b[C')
  await shows('fix.lib.Helper.help')
  expect(await withProbes()).toEqual([
    'Helper.help',
    'Steady.middle',
    'Steady.only',
    'Steady.other',
    'Steady.root',
  ])

  await select('middle')
  terminal.send('r')
  await says(/ make fix\.Steady\.middle\(\) the root and reset to zero\?/)
  terminal.send('\rp')
  await says(/recording restarted from zero: fix\.Steady\.middle\(\)/)
  // A remote tree arrives with the next snapshot.
  await terminal.until((lines) => !/PAUSED|Steady\.root|Steady\.other/.test(lines.join('\n')))
  await shows('▾ fix.Steady.middle', 'fix.Steady.only', 'fix.lib.Helper.help')
  expect(await withProbes()).toEqual(['Helper.help', 'Steady.middle', 'Steady.only'])
  expect((await liveCode(jvm, 'Lfix/Steady;')).get('Lfix/Steady;.root()V')).toBe(
    code.get('Lfix/Steady;.root()V'),
  )

  terminal.send('q')
  expect((await terminal.exit).code).toBe(0)
  expect(terminal.modes()).toMatchObject({ screen: 'normal', cursorShown: true, mouse: 'none' })
  const left = terminal.scrollback().join('\n')
  expect(left).toMatch(/added during the session, from the start: fix\.lib\.\*/)
  expect(left).toMatch(/roots were changed during the session, from fix\.Steady\.root/)
  expect(await liveCode(jvm, 'Lfix/')).toEqual(code)
  expect((await threadNames(java.pid)).filter((name) => /jfluid/.test(name))).toEqual([])
  expect(filesOf(java.pid, ...clients)).toEqual([`/tmp/.java_pid${java.pid}`])
}
