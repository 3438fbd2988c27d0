// The JVM calls the application's security manager before it links a probe, so probes in the security manager would cause an endless
// recursion. jfluid therefore refuses such a JVM and reports the reason. JDK 24 and later have no security managers.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forJdks } from '../support/jdks.ts'
import { jfluid, startJfluid } from '../support/jfluid.ts'
import { until } from './remains.ts'

const HOST = `
  package fix;
  public class Guarded {
    public static class Own extends SecurityManager {
      static int asked;
      static void ask() { asked++; }
      @Override public void checkPackageAccess(String name) { ask(); }
      @Override public void checkPermission(java.security.Permission permission) { }
    }
    static int step(int x) { return x + 1; }
    static int work(int x) { return step(x); }
    public static void main(String[] args) throws Exception {
      if (args[0].equals("allow")) System.setSecurityManager(new Own());
      System.out.println("ready");
      var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
      for (String line; (line = in.readLine()) != null; ) System.out.println("done " + work(1));
    }
  }`

const ways: [string, string[], string][] = [
  ['given by an option', ['-Djava.security.manager=fix.Guarded$Own'], 'fix.Guarded$Own'],
  ['of the JDK', ['-Djava.security.manager'], 'java.lang.SecurityManager'],
  ['set by the program', ['-Djava.security.manager=allow'], 'fix.Guarded$Own'],
]

describe('a JVM with a security manager', () => {
  forJdks({ before: 24, reason: 'security managers need JDK 23 or older' }, (jdk) => {
    it('jfluid run refuses a JVM with a security manager and ends the program with a message', async () => {
      const classes = await compileJava(jdk, { 'fix/Guarded': HOST })
      const out = join(temporaryDirectory(), 'p.jfluid')
      const java = [jdk.java, '-Djava.security.manager=fix.Guarded$Own', '-cp', classes, 'fix.Guarded', 'no']
      const { code, stderr } = await jfluid(
        ...['run', '--root', 'fix.Guarded.work', '--record', out, '--', ...java],
      )
      expect(stderr).toMatch(
        /JVM \d+ has a security manager \(fix.Guarded\$Own\), with which jfluid does not work/,
      )
      expect(code).toBe(69)
      expect(existsSync(out)).toBe(false)
    })

    it('a JVM with a security manager that a script starts is not profiled, and jfluid run reports the refusal while the JVM runs', async () => {
      const classes = await compileJava(jdk, { 'fix/Guarded': HOST })
      const java = `'${jdk.java}' -Djava.security.manager='fix.Guarded$Own' -cp '${classes}' fix.Guarded no`
      const told =
        /JVM \d+ has a security manager \(fix.Guarded\$Own\), with which jfluid does not work; this JVM continues without being recorded/
      const run = (script: string) => {
        const out = join(temporaryDirectory(), 'p.jfluid')
        return startJfluid(
          ...['run', '--root', 'fix.Guarded.work', '--record', out, '--', 'sh', '-c', script],
        )
      }
      const launched = run(`${java}; true`)
      await until(() => told.test(launched.stderr()))
      launched.child.stdin?.end()
      expect((await launched.exit).code).toBe(69)
      // The command itself may become the JVM.
      const become = run(`exec ${java}`)
      await until(() => told.test(become.stderr()))
      become.child.stdin?.end()
      expect((await become.exit).code).toBe(69)
    })

    it.each(ways)(
      'an attach to a JVM with a security manager %s is refused, and the JVM continues',
      async (_, options, manager) => {
        const classes = await compileJava(jdk, { 'fix/Guarded': HOST })
        const java = startJava(jdk, [
          ...options,
          '-cp',
          classes,
          'fix.Guarded',
          options[0].split('=')[1] ?? '',
        ])
        await java.line(/^ready$/)
        const out = join(temporaryDirectory(), 'p.jfluid')
        const { code, stderr } = await jfluid(
          'record',
          String(java.pid),
          '--root',
          'fix.Guarded.work',
          '--out',
          out,
        )
        expect(stderr).toContain(
          `JVM ${java.pid} has a security manager (${manager}), with which jfluid does not work`,
        )
        expect(code).toBe(69)
        java.send('work')
        await java.line(/^done 2$/)
        expect(java.stderr()).not.toContain('StackOverflowError')
      },
    )

    it.each(ways)(
      'a security manager %s is detected over the debugger port before jfluid runs code in the JVM',
      async (_, options, manager) => {
        const classes = await compileJava(jdk, { 'fix/Guarded': HOST })
        const java = startJava(jdk, [
          '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0',
          ...[...options, '-cp', classes, 'fix.Guarded', options[0].split('=')[1] ?? ''],
        ])
        await java.line(/^ready$/)
        const port = async (nth: number) => /\d+$/.exec(await java.line(/^Listening for transport/, nth))![0]
        const words = `has a security manager (${manager}), with which jfluid does not work`
        const looked = await jfluid('doctor', '--jdwp', await port(1), '--json')
        const found = JSON.parse(looked.stdout).findings.filter(
          (it: { level: string }) => it.level === 'problem',
        )
        expect(found).toMatchObject([{ check: 'security manager', text: expect.stringContaining(words) }])
        expect(looked.code).toBe(69)
        const out = join(temporaryDirectory(), 'p.jfluid')
        const told = await jfluid(
          ...['record', '--jdwp', await port(2), '--root', 'fix.Guarded.work', '--out', out],
        )
        expect(told.stderr).toContain(words)
        expect(told.stderr).not.toContain('starting a thread')
        expect(told.code).toBe(69)
        java.send('work')
        await java.line(/^done 2$/)
      },
    )
  })
})
