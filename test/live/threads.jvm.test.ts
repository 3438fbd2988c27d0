// jfluid threads, and the page with a thread dump in the live view.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { threadsOf } from '../../src/session/why/jvm-threads.ts'
import { compileFixture, type Fixture } from '../fixtures/fixtures.ts'
import { ask, compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forJdks, forNewestJdk, type Jdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { exported, machine } from './proxy.ts'

/** A thread name that contains the text of another thread. */
const FORGED =
  'two\n\n"forged" #99 prio=5 os_prio=0 cpu=1ms elapsed=1s tid=0x1 nid=0x2 runnable  [0x0]\n   java.lang.Thread.State: RUNNABLE\n\tat evil.Code.run(Code.java:1)\n'
const NAMES = {
  'Names.java': `
public class Names {
    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
            }
        }, ${JSON.stringify(FORGED)});
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) Thread.onSpinWait();
        System.out.println("ready");
        System.in.read();
    }
}
`,
}

async function start(
  jdk: Jdk,
  name: Fixture,
  args: readonly string[] = [],
  options: readonly string[] = [],
): Promise<JavaProcess> {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, name), `fix.${name}`, ...args])
  await java.line(/^ready/)
  return java
}

async function printed(java: JavaProcess, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await jfluid('threads', `${java.pid}`, ...options)
  expect(code, stderr).toBe(0)
  return stdout
}

forNewestJdk((jdk) => {
  describe('the command jfluid threads', () => {
    it('jfluid threads shows a deadlock, its locks, and the stacks of working threads', async () => {
      const java = await start(jdk, 'Deadlock')
      const text = await printed(java)
      expect(text).toContain(
        'deadlock of 2 threads:\n  first waits for fix.Deadlock$Right, held by second\n  second waits for fix.Deadlock$Left, held by first\n',
      )
      expect(text).toMatch(
        /^ +1 {2}lock; waits for fix\.Deadlock\$Right, held by second; holds fix\.Deadlock\$Left: first$/m,
      )
      expect(text).toMatch(
        /^ +2 {2}lock; waits for fix\.Deadlock\$Left, held by first: blocked-1, blocked-2\n +at fix\.Deadlock\.enter\(Deadlock\.java:\d+\)$/m,
      )
      expect(text).toMatch(/^ +1 {2}idle$/m)
      expect(JSON.parse(await printed(java, '--json'))).toMatchObject({
        command: 'threads',
        pid: java.pid,
        mainClass: 'fix.Deadlock',
        virtual: null,
      })
    })

    it('jfluid threads shows a deadlock of a monitor and a lock of java.util.concurrent', async () => {
      const text = await printed(await start(jdk, 'Deadlock', ['locks']))
      const sync = 'java.util.concurrent.locks.ReentrantLock$NonfairSync'
      expect(text).toContain(
        `deadlock of 2 threads:\n  first waits for ${sync}, held by second\n  second waits for fix.Deadlock$Left, held by first\n`,
      )
      expect(text).toContain(`lock; waits for ${sync}, held by second; holds fix.Deadlock$Left: first\n`)
    })

    itInFull(
      'jfluid threads shows a deadlock of static initializers, which the JVM does not report',
      async () => {
        const java = await start(jdk, 'Deadlock', ['classes'])
        // The threads enter the initializers before "ready", and wait for each other shortly after.
        await expect
          .poll(() => printed(java))
          .toContain(
            'deadlock of 2 threads:\n  first waits for static initializer of fix.Deadlock$Egg, held by second\n  second waits for static initializer of fix.Deadlock$Chicken, held by first\n',
          )
      },
    )
  })

  itInFull(
    'a thread name with line feeds is read as a name, also if it contains the text of another thread',
    async () => {
      const java = startJava(jdk, ['-cp', await compileJava(jdk, NAMES), 'Names'])
      await java.line(/^ready/)
      const { groups } = await threadsOf(java.pid)
      const names = groups.flatMap((it) => it.threads)
      expect(names).toContain(FORGED)
      expect(names).toContain('main')
      expect(names).not.toContain('forged')
      const frames = groups.flatMap((it) => it.frames)
      expect(frames.filter((it) => it.includes('evil'))).toEqual([])
      expect(groups.find((it) => it.threads.includes(FORGED))?.frames[0]).toMatch(
        /^java\.lang\.Thread\.sleep/,
      )
    },
  )

  it('commands take thread dumps of a JVM with more than a thousand threads only with consent', async () => {
    const java = await start(jdk, 'Deep', ['1100', '2'])
    const pid = `${java.pid}`
    for (const command of ['threads', 'why']) {
      const { code, stdout, stderr } = await jfluid(command, pid)
      expect([code, stdout], stderr).toEqual([75, ''])
      expect(stderr).toMatch(
        /^jfluid: JVM \d+ has 1,1\d\d threads, so a thread dump may stop it .*\n {2}Add --yes to take thread dumps\.\n$/,
      )
    }
    const attached = await jfluid('attach', pid)
    expect([attached.code, attached.stdout], attached.stderr).toEqual([64, ''])
    expect(await printed(java, '--yes')).toContain('1100  other wait')

    for (const [answer, expected] of [
      ['n', 75],
      ['y', 0],
    ] as const) {
      const terminal = Terminal.jfluid(['threads', pid])
      await terminal.until((lines) => lines.some((line) => line.includes('Continue? [y/N]')))
      terminal.send(`${answer}\r`)
      expect((await terminal.exit).code).toBe(expected)
      expect(terminal.scrollback().join('\n').includes('1100  other wait')).toBe(answer === 'y')
    }
    const choosing = Terminal.jfluid(['attach', pid])
    await choosing.until((lines) => lines.some((line) => line.includes('Continue? [y/N]')))
    choosing.send('n\r')
    expect((await choosing.exit).code).toBe(75)
  })

  describe('the key D of the live view', () => {
    itInFull.each([
      ['calls', ['--root', 'fix.Waiting.request'], / [1-9]\d* .*fix\.Waiting\.request/],
      ['regions', ['--region', 'fix.Waiting.request'], / [1-9]\d* .*fix\.Waiting\.request/],
      ['samples', ['--mode', 'sample'], / [1-9]\d* +samples/],
    ])(
      'the view of %s shows a thread dump, and the profile states how long the dump stopped the JVM',
      async (_, how, records) => {
        const java = await start(jdk, 'Waiting')
        const out = `${temporaryDirectory()}/dump.jfluid`
        const terminal = Terminal.jfluid(['attach', `${java.pid}`, ...how, '--out', out])
        const shows = (pattern: RegExp) => terminal.until((lines) => lines.some((line) => pattern.test(line)))
        await shows(records)
        terminal.send('D')
        await shows(/^the dump stopped the JVM for \d+\.\d ms$/)
        await shows(/Esc closes this page +lines 1 to \d+ of \d+/)
        terminal.send('qq')
        expect((await terminal.exit).code).toBe(0)
        const report = await jfluid('report', out)
        expect(report.stdout.replace(/\s+/g, ' ')).toMatch(
          /1 thread dump of the live view stopped the JVM for \d+\.\d ms in total: the recorded times contain these stops/,
        )
      },
    )

    itInFull('a JVM with more than a thousand threads gives a dump only after a second key D', async () => {
      const java = await start(jdk, 'Deep', ['1100', '2'])
      const terminal = Terminal.jfluid(['attach', `${java.pid}`, '--root', 'fix.Deep.down'])
      const shows = (pattern: RegExp) => terminal.until((lines) => lines.some((line) => pattern.test(line)))
      await shows(/waiting for root/)
      terminal.send('D')
      await shows(/^JVM \d+ has 1,1\d\d threads, so a thread dump may stop it/)
      await sleep(1_100) // an earlier key does not confirm the dump
      terminal.send('D')
      await shows(/^the dump stopped the JVM for \d+\.\d ms$/)
      await shows(/^1100 {2}other wait; waits for java\.util\.concurrent\.CountDownLatch\$Sync:/)
      terminal.send('qq')
      await terminal.exit
    })
  })
})

forNewestJdk((jdk) => {
  itInFull('the key D shows a thread dump of a JVM on another machine', async () => {
    const there = machine()
    const java = await start(jdk, 'Waiting')
    const args = ['attach', `ssh://there/${java.pid}`, '--root', 'fix.Waiting.request']
    const terminal = Terminal.jfluid(args, { before: exported(there.env) })
    const shows = (pattern: RegExp) => terminal.until((lines) => lines.some((line) => pattern.test(line)))
    await shows(/ [1-9]\d* .*fix\.Waiting\.request/)
    terminal.send('D')
    await shows(/^the dump stopped the JVM for \d+\.\d ms$/)
    // A client whose request has just ended does not wait.
    await shows(/^ +[1-4] {2}other wait; waits for java\.util\.concurrent\.FutureTask: client-\d/)
    terminal.send('qq')
    expect((await terminal.exit).code).toBe(0)
  })
})

forJdks({ from: 24, reason: 'thread dumps have stacks of virtual threads since JDK 24' }, (jdk) => {
  itInFull(
    'jfluid threads names what pins virtual threads, and the number of ready virtual threads without a carrier',
    async () => {
      const options = ['parallelism', 'maxPoolSize'].map((it) => `-Djdk.virtualThreadScheduler.${it}=2`)
      const java = await start(jdk, 'Virtual', [], options)
      java.send('pin')
      await java.line(/^started/)
      await expect
        .poll(() => printed(java))
        .toContain('virtual threads: 2 on carriers, 2 of them pinned; 1 ready to run without a carrier;')
      const text = await printed(java)
      expect(text).toMatch(
        /other wait; pinned at fix\.Virtual\$Initialized\.<clinit>\(Virtual\.java:\d+\); on ForkJoinPool-1-worker-\d: virtual #\d+\n/,
      )
      expect(text).toMatch(
        /lock; pinned at fix\.Virtual\.lambda\$pin\$1\(Virtual\.java:\d+\); on ForkJoinPool-1-worker-\d; waits for static initializer of fix\.Virtual\$Initialized, held by virtual #\d+: virtual #\d+\n/,
      )
    },
  )

  itInFull('virtual threads that park, yield or wait for a lock are not called pinned', async () => {
    const java = await start(jdk, 'Virtual')
    const pins = new Set<string>()
    let mounted = 0
    // A thread that waits while another thread initializes a class is pinned, so all classes are initialized before.
    await ask(java, 'run 1000', /^done/)
    java.send('run 4000')
    const done = java.line(/^done/, 2)
    let isDone = false
    void done.then(() => {
      isDone = true
    })
    while (!isDone) {
      const { groups, virtual } = await threadsOf(java.pid)
      mounted += virtual?.mounted ?? 0
      for (const { pinnedAt } of groups) if (pinnedAt !== null) pins.add(pinnedAt)
    }
    expect(mounted).toBeGreaterThan(0)
    // A class loader called by a native method is the only reason for pinning in this program.
    expect([...pins].filter((it) => !it.startsWith('java.lang.Class.forName0('))).toEqual([])
  })
})
