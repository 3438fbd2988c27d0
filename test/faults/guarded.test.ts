// A JVM with a security manager, which the JVM asks before it links a probe: jfluid does not enter, however often it is told
// to, and the program does not notice. What is said, and `run`: live/security-manager.test.ts.

import { describe, it } from 'vitest'
import { added, descriptors, filesOf, mappedFiles, threadNames } from '../live/remains.ts'
import { compileJava, startJava } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { FULL, times, trials } from './trials.ts'

/** work n: n calls of the root: "worked <their sum>" */
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
  ['by an option', ['-Djava.security.manager=fix.Guarded$Own']],
  ['of the JDK', ['-Djava.security.manager']],
  ['by the program', ['-Djava.security.manager=allow']],
]
const CALLS = 100_000
const SUM = (CALLS * (CALLS + 1)) / 2

// JDK 24 has none any more.
const guarded = jdks.filter(({ version }) => version < 24)

describe.runIf(FULL && guarded.length > 0)('a security manager', () => {
  describe.each(guarded)('on JDK $version', (jdk) => {
    it.each(WAYS)('that is set %s', { timeout: 3_600_000 }, async (way, options) => {
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
      await trials(`a security manager, set ${way}`, jdk, times(1, 30), async (chance) => {
        const command = chance.of([
          ['record', '--root', 'fix.Guarded.work', '--duration', '1s', '--out', '/dev/null'],
          ['doctor', '--root', 'fix.Guarded.work'],
          ['detach'],
        ])
        const [name, ...args] = command
        const working = chance.next() < 0.5
        if (working) java.send(`work ${CALLS}`)
        const { code, stdout, stderr } = await jfluid(name!, String(java.pid), ...args)
        if (!working) java.send(`work ${CALLS}`)
        const told = await java.line(/^worked/, ++worked)
        const harm = told === `worked ${SUM}` ? [] : [`it said ${told}`]
        if (java.stderr() !== '' && !/^WARNING/m.test(java.stderr())) harm.push(java.stderr())
        if (name !== 'detach' && (code !== 69 || !/has a security manager/.test(stdout + stderr)))
          harm.push(`${name} ended with ${code}: ${stdout}${stderr}`)
        const now = await look()
        // The JVM has its attach socket since the first time.
        const isFirst = before === null
        before ??= now
        const left = [
          ...added(before.threads, now.threads),
          ...added(before.descriptors, now.descriptors),
          ...added(before.mapped, now.mapped),
          ...[...now.threads, ...now.mapped].filter((it) => isFirst && /jfluid/.test(it)),
          ...filesOf(java.pid).filter((it) => !it.includes('.java_pid')),
        ]
        return { harm, profile: 'none', left }
      })
      await java.kill()
    })
  })
})
