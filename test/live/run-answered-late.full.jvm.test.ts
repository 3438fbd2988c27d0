// `jfluid run` if jfluid does not answer the question of a JVM in time: main() is held back for 10 s at most.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { startJfluid } from '../support/jfluid.ts'

const HELD = `
package fix;
public class Held {
  static void work() { }
  public static void main(String[] args) throws Exception {
    long started = java.lang.management.ManagementFactory.getRuntimeMXBean().getStartTime();
    System.out.println("main after " + (System.currentTimeMillis() - started) + " ms in " + ProcessHandle.current().pid());
    for (int i = 0; i < 6000; i++) { work(); Thread.sleep(10); }
  }
}`

forEachJdk((jdk) => {
  it('a JVM that got no answer in time runs, and is not reported as ended', async () => {
    const classes = await compileJava(jdk, { 'fix/Held': HELD })
    const out = join(temporaryDirectory(), 'p.jfluid')
    // The parent of the shell is jfluid.
    const script = `
      kill -STOP $PPID
      "$@" >"$0" 2>/dev/null &
      while ! grep -q main "$0"; do sleep 0.05; done
      kill -CONT $PPID
      cat "$0"
      sleep 3`
    const run = startJfluid(
      ...['run', '--root', 'fix.Held.work', '--record', out, '--', 'sh', '-c', script, `${out}.txt`],
      ...[jdk.java, '-cp', classes, 'fix.Held'],
    )
    const [, ms, pid] = /main after (\d+) ms in (\d+)/.exec(await run.line(/^main/))!
    onTestFinished(() => {
      if (existsSync(`/proc/${pid}`)) process.kill(Number(pid), 'SIGKILL')
    })
    console.info(`JDK ${jdk.version}: main() after ${ms} ms`)
    const { code } = await run.exit
    expect(run.stderr()).toContain(
      `jfluid did not answer JVM ${pid} within 10 s; this JVM continues without being recorded`,
    )
    expect(run.stderr()).not.toContain('ended before')
    expect(code).toBe(75)
    expect(existsSync(`/proc/${pid}`)).toBe(true)
  })
})
