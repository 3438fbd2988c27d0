// A JVM that uses all processors and has much compiled code, which its first redefinition would discard (JDK 22 and older). Runs alone,
// because the load of the machine is measured.

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forJdks } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'

/** Compiles a class with the JDK's compiler, so that some thousand methods have run. After this, threads call the root continuously. */
const BUSY = `
  package fix;
  import javax.tools.*;
  public class Busy {
    static volatile double sink;
    static void root() { sink = compute(); }
    static double compute() {
      double sum = 0;
      for (long end = System.nanoTime() + 20_000_000L; System.nanoTime() < end; ) sum += Math.sqrt(sum + 1);
      return sum;
    }
    public static void main(String[] args) {
      JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
      JavaFileObject source = new SimpleJavaFileObject(java.net.URI.create("string:///T.java"), JavaFileObject.Kind.SOURCE) {
        public CharSequence getCharContent(boolean ignore) {
          return "class T { int f(java.util.List<String> l) { int n = 0; for (String s : l) n += s.length(); return n; } }";
        }
      };
      javac.getTask(null, null, null, java.util.List.of("-proc:none", "-d", args[1]), null, java.util.List.of(source)).call();
      for (int i = 0; i < Integer.parseInt(args[0]); i++) new Thread(() -> { while (true) root(); }).start();
      System.out.println("ready");
    }
  }`

forJdks({ before: 23, reason: 'from JDK 23 on little compiled code is discarded' }, (jdk) => {
  it('jfluid record only samples the stacks of a busy JVM, to avoid a code cache flush; --yes permits probes, and --time is refused', async () => {
    const dir = temporaryDirectory()
    // -Xcomp compiles each method before its first call.
    const vm = ['-Xcomp', '-XX:TieredStopAtLevel=1', '-XX:ReservedCodeCacheSize=240m']
    const classes = await compileJava(jdk, { 'fix/Busy': BUSY })
    const java = startJava(jdk, [...vm, '-cp', classes, 'fix.Busy', `${availableParallelism() + 1}`, dir])
    await java.line(/^ready/)
    const record = async (...args: readonly string[]) => {
      const file = join(dir, `${args.length}.jfluid`)
      const asked = ['--root', 'fix.Busy.root', '--duration', '3s', '--out', file]
      return { file, ...(await jfluid('record', `${java.pid}`, ...asked, ...args)) }
    }
    const why =
      /JVM \d+ is too busy for its first redefinition, which discards all of its [\d,]+ compiled methods \(JDK \d+\): the JVM uses [\d.]+ processors and can use [\d.]+, but would need about [\d.]+ to compile them again, so requests would wait for seconds/

    const listed = (await jfluid('ps')).stdout.split('\n').find((line) => line.startsWith(`${java.pid} `))
    expect(listed).toMatch(/ samples only: busy {2,}fix\.Busy$/)

    const timed = await record('--time', 'fix.Busy.compute')
    expect([timed.code, timed.stderr]).toEqual([STATUS.notNow, expect.stringMatching(why)])

    const { code, stderr, file } = await record()
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^only sampling stacks, without counting calls: JVM /m),
    ])
    const { mode, sampling, roots, warnings, merged } = await readProfileJson(file)
    expect([mode, sampling?.by, roots]).toEqual(['sample', 'stacks', ['fix.Busy.root']])
    expect(warnings).toContainEqual(expect.stringMatching(why))
    expect(merged[0]).toMatchObject({ class: 'fix.Busy', method: 'root' })

    const attached = await record('--yes', '--scheme', 'adaptive')
    expect([attached.code, attached.stderr]).toEqual([
      0,
      expect.stringContaining('nothing of jfluid remains'),
    ])
    expect((await readProfileJson(attached.file)).merged[0]!.calls).toBeGreaterThan(0)
  })
})
