// `jfluid run` with JVMs that outlive the command, as daemons of build tools do: the exit code is 0 only if they have their code back.

import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson, startJfluid } from '../support/jfluid.ts'
import { remainsOf } from './remains.ts'

/**
 * Calls `work` for a minute, and creates a file after the first calls. Its own agent makes the JVM refuse each redefinition of the class as
 * soon as another file exists.
 */
const DAEMON = `
package fix;
import java.io.File;
import java.lang.instrument.*;
import java.security.ProtectionDomain;
public class Daemon implements ClassFileTransformer {
  static File broken;
  static volatile int sink;
  public static void premain(String options, Instrumentation jvm) {
    broken = new File(options);
    jvm.addTransformer(new Daemon(), true);
  }
  public byte[] transform(ClassLoader l, String name, Class<?> c, ProtectionDomain d, byte[] bytes) {
    return "fix/Daemon".equals(name) && c != null && broken.exists() ? new byte[] {0} : null;
  }
  static void work() { sink++; }
  public static void main(String[] args) throws Exception {
    for (int i = 0; i < 6000; i++) {
      work();
      if (i == 10) new File(args[0]).createNewFile();
      Thread.sleep(10);
    }
  }
}`

forOldestJdk((jdk) => {
  let jar: string
  beforeAll(async () => {
    const classes = await compileJava(jdk, { 'fix/Daemon': DAEMON })
    const dir = temporaryDirectory()
    jar = join(dir, 'daemon.jar')
    const manifest = join(dir, 'manifest')
    writeFileSync(manifest, 'Premain-Class: fix.Daemon\nCan-Retransform-Classes: true\n')
    execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
  })

  /** A command that starts the JVM in the background, prints `called` after the first calls, and ends when the file `go` exists. */
  async function startDaemon(): Promise<{ run: JavaProcess; pid: number; out: string; dir: string }> {
    const dir = temporaryDirectory()
    const out = join(dir, 'p.jfluid')
    const script = `
      "$@" >/dev/null 2>&1 &
      echo "pid $!"
      while [ ! -e "$0/called" ]; do sleep 0.02; done
      echo called
      while [ ! -e "$0/go" ]; do sleep 0.02; done`
    const run = startJfluid(
      ...['run', '--root', 'fix.Daemon.work', '--record', out, '--', 'sh', '-c', script, dir],
      ...[
        jdk.java,
        `-javaagent:${jar}=${join(dir, 'broken')}`,
        '-cp',
        jar,
        'fix.Daemon',
        join(dir, 'called'),
      ],
    )
    const pid = Number((await run.line(/^pid/)).slice(4))
    onTestFinished(() => {
      if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL')
      rmSync(`/tmp/.java_pid${pid}`, { force: true })
    })
    await run.line(/^called/)
    return { run, pid, out, dir }
  }

  it('a JVM that outlives the command gets its code back, and the exit code is 0', async () => {
    const { run, pid, out, dir } = await startDaemon()
    writeFileSync(join(dir, 'go'), '')
    const { code } = await run.exit
    expect(code, run.stderr()).toBe(0)
    expect(run.stderr()).toMatch(
      new RegExp(
        `detached from ${pid} in \\d+ ms; restored: .* verified as original, nothing of jfluid remains`,
      ),
    )
    expect(await remainsOf(pid, [run.pid])).toEqual([])
    expect((await readProfileJson(out)).merged[0]?.calls).toBeGreaterThan(10)
  })

  it('the exit code is 84 if a JVM that outlives the command keeps probes', async () => {
    const { run, pid, dir } = await startDaemon()
    writeFileSync(join(dir, 'broken'), '')
    writeFileSync(join(dir, 'go'), '')
    expect((await run.exit).code, run.stderr()).toBe(STATUS.notRestored)
    expect(run.stderr()).toContain(`jfluid: 1 class did not get the original code back in JVM ${pid}`)
    expect(existsSync(`/proc/${pid}`)).toBe(true)
  })

  it('the exit code is 75 if a session of the command ended too early', async () => {
    const { run, pid, out, dir } = await startDaemon()
    expect((await jfluid('detach', `${pid}`, '--force')).code).toBe(0)
    writeFileSync(join(dir, 'go'), '')
    expect((await run.exit).code, run.stderr()).toBe(75)
    expect(run.stderr()).toContain('jfluid: the recording ended too early: it was ended by jfluid detach')
    expect((await readProfileJson(out)).truncated).toBe(true)
  })
})
