// A JVM with a security manager, which the JVM calls before it links a probe: every attach is refused, and the program is unaffected.
// Messages and `run`: live/security-manager.jvm.test.ts.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { added, descriptors, filesOf, mappedFiles, threadNames } from '../live/remains.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { forJdks } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { times, trials } from './trials.ts'

/** work n: n calls of the root; prints "worked <sum of the results>" */
const HOST = `
  package fix;
  public class Guarded {
    public static class Own extends SecurityManager {
      static int asked;
      @Override public void checkPackageAccess(String name) { asked++; }
      @Override public void checkPermission(java.security.Permission permission) { }
    }
    static int step(int x) { return x + 1; }
    static int work(int x) { return step(x); }
    public static void main(String[] args) throws Exception {
      if (args[0].equals("allow")) System.setSecurityManager(new Own());
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) {
        long sum = 0;
        for (int i = 0; i < Integer.parseInt(line.split(" ")[1]); i++) sum += work(i);
        System.out.println("worked " + sum);
      }
    }
  }`

const WAYS: readonly (readonly [string, readonly string[]])[] = [
  ['set by an option', ['-Djava.security.manager=fix.Guarded$Own']],
  ["the JDK's own", ['-Djava.security.manager']],
  ['set by the program', ['-Djava.security.manager=allow']],
]
/** Maximum time until a connection is closed after its last message. */
const CLOSED_MS = 2000
const CALLS = 100_000
const SUM = (CALLS * (CALLS + 1)) / 2

describe('a JVM with a security manager', () => {
  forJdks({ before: 24, reason: 'security managers need JDK 23 or older' }, (jdk) => {
    it.each(WAYS)(
      'an attach to a JVM with a security manager is refused, and the program continues: %s',
      { timeout: 3_600_000 },
      async (way, options) => {
        const classes = await compileJava(jdk, { 'fix/Guarded': HOST })
        const java = startJava(jdk, [
          ...options,
          '-cp',
          classes,
          'fix.Guarded',
          options[0]!.split('=')[1] ?? '',
        ])
        await java.line(/^ready$/)
        const look = async () => ({
          threads: await threadNames(java.pid),
          descriptors: descriptors(java.pid),
          mapped: mappedFiles(java.pid),
        })
        let worked = 0
        let before: Awaited<ReturnType<typeof look>> | null = null
        await trials(`a security manager, ${way}`, jdk, times(30), async (chance, n) => {
          // This attach executes the most steps, so it comes first: the files that the JDK then keeps open already exist before the other
          // attaches.
          const record = ['record', '--root', 'fix.Guarded.work', '--duration', '1s', '--out', '/dev/null']
          const command = chance.of([record, ['doctor', '--root', 'fix.Guarded.work'], ['detach']])
          const [name, ...args] = n === 0 ? record : command
          const working = chance.next() < 0.5
          if (working) java.send(`work ${CALLS}`)
          const { code, stdout, stderr } = await jfluid(name!, String(java.pid), ...args)
          if (!working) java.send(`work ${CALLS}`)
          const told = await java.line(/^worked/, ++worked)
          const harm = told === `worked ${SUM}` ? [] : [`it said ${told}`]
          const wrong: string[] = []
          // A JVM with a security manager on its command line prints a warning about its removal.
          const said = java.stderr().replaceAll(/^WARNING: .*\n/gm, '')
          if (said !== '') harm.push(`it said: ${said}`)
          if (name !== 'detach' && (code !== 69 || !/has a security manager/.test(stdout + stderr)))
            wrong.push(`${name} ended with ${code}: ${stdout}${stderr}`)
          const now = await look()
          // The JVM has its attach socket since the first attach, and the JDK has a socket of its own.
          const isFirst = before === null
          before ??= now
          const settled = before
          const found = (there: typeof now): string[] => [
            ...added(settled.threads, there.threads),
            ...added(settled.descriptors, there.descriptors),
            ...added(settled.mapped, there.mapped),
            ...[...there.threads, ...there.mapped].filter((it) => isFirst && /jfluid/.test(it)),
            ...filesOf(java.pid).filter((it) => !it.includes('.java_pid')),
          ]
          // The connection of this check is closed a moment after its answer.
          const latest = performance.now() + CLOSED_MS
          let left = found(now)
          while (left.length > 0 && performance.now() < latest) {
            await sleep(50)
            left = found({ ...now, descriptors: descriptors(java.pid) })
          }
          return { harm, wrong, profile: 'none', left }
        })
        await java.kill()
      },
    )
  })
})
