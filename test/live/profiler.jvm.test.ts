// A profiling agent of the user's (--profiler): the example's own, and some that behave badly.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, jdks, newestOrAll } from '../support/jdks.ts'
import {
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

const root = join(import.meta.dirname, '../..')
const api = join(root, 'dist/agent/jfluid-api.jar')
const ROOT = 'fix.Blocks.root'

/** A jar with a profiler, from a directory of sources or a text. */
async function profilerJar(
  jdk: Jdk,
  sources: string | Record<string, string>,
  name: string,
): Promise<string> {
  const classes = await compileJava(jdk, sources, { options: ['-cp', api] })
  const dir = temporaryDirectory('jfluid-profiler-')
  const [manifest, jar] = [join(dir, 'manifest'), join(dir, 'p.jar')]
  writeFileSync(manifest, `Jfluid-Profiler: ${name}\n`)
  const tool = join(jdk.home, 'bin', 'jar')
  execFileSync(tool, ['--create', '--file', jar, '--manifest', manifest, '-C', classes, '.'])
  return jar
}

const badProfiler = (where: 'register' | 'report' | 'end') => ({
  'bad/Bad.java': `
    package bad;
    import jfluid.api.*;
    public class Bad implements Profiler {
      private int fail(String here) {
        if (here.equals("${where}")) throw new IllegalStateException("bad in " + here);
        return 100;
      }
      public int register(Thread t, CallingContext root) { return fail("register"); }
      public int report(CallingContext root, CallingContext current) { return fail("report"); }
      public void end() { fail("end"); }
    }`,
})

function bytecodesByMethod({ merged }: JsonProfile): Map<string, [number, number]> {
  const sums = new Map<string, [number, number]>()
  const visit = (node: JsonNode): void => {
    const method = `${node.class}.${node.method}${node.descriptor}`
    const [bytecodes, calls] = sums.get(method) ?? [0, 0]
    sums.set(method, [bytecodes + node.selfBytecodes!, calls + node.calls])
    node.children.forEach(visit)
  }
  merged.forEach(visit)
  return sums
}

describe.each(newestOrAll)('JDK $version', (jdk) => {
  const recorded = async (jar: string, ...options: string[]) => {
    const classes = await compileFixture(jdk, 'Blocks')
    const java = startJava(jdk, [...options, '-cp', classes, 'fix.Blocks', 'serve'])
    await java.line(/ready/)
    const recording = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes', '--profiler', jar)
    await recording.started
    java.send('threads 4 2000')
    await java.line(/done/)
    java.send('run 300')
    await java.line(/done/, 2)
    const profile = await recording.stop()
    java.send('run 20')
    await java.line(/done/, 3)
    return profile
  }

  it('the example: what it counts is what the profile says, ended threads included', async () => {
    const jar = await profilerJar(jdk, join(root, 'examples/03-profiler/src'), 'top.TopMethods')
    const file = join(temporaryDirectory('jfluid-top-'), 'top.txt')
    const profile = await recorded(jar, `-Dtop.file=${file}`)
    expect(profile.warnings).toEqual([])
    const [first, ...rows] = readFileSync(file, 'utf8').trim().split('\n')
    const [, threads, reports] = /^(\d+) threads, (\d+) reports$/.exec(first!)!
    expect(Number(threads)).toBe(5)
    expect(Number(reports)).toBeGreaterThan(3)
    const all = bytecodesByMethod(profile)
    expect(rows).toHaveLength(10)
    for (const row of rows) {
      const [, bytecodes, calls, method] = /^ *([\d,]+) bytecodes +([\d,]+) calls {2}(.+)$/.exec(row)!
      const numbers = [bytecodes, calls].map((text) => Number(text!.replaceAll(',', '')))
      expect(numbers, method).toEqual(all.get(method!))
    }
  })

  it.each(['register', 'report', 'end'] as const)(
    'what it throws in %s is told, and nobody else suffers',
    async (where) => {
      const profile = await recorded(await profilerJar(jdk, badProfiler(where), 'bad.Bad'))
      const told = `the profiler failed: java.lang.IllegalStateException: bad in ${where}`
      expect(profile.warnings).toEqual([told])
      expect(profile.instrumentation.gaps).toBe(0)
      expect(bytecodesByMethod(profile).get('fix.Blocks.root(I)I')![1]).toBe(5)
    },
  )

  it('ends with the JVM under `jfluid run`', async () => {
    const jar = await profilerJar(jdk, join(root, 'examples/03-profiler/src'), 'top.TopMethods')
    const dir = temporaryDirectory('jfluid-top-')
    const [file, profile] = [join(dir, 'top.txt'), join(dir, 'p.jfluid')]
    const classes = await compileFixture(jdk, 'Blocks')
    const program = [jdk.java, `-Dtop.file=${file}`, '-cp', classes, 'fix.Blocks', 'run', '50', '3']
    const flags = ['--root', ROOT, '--mode', 'bytecodes', '--profiler', jar, '--record', profile]
    const ran = await jfluid('run', ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const all = bytecodesByMethod(await readProfileJson(profile))
    const rows = readFileSync(file, 'utf8').trim().split('\n').slice(1)
    expect(rows).toHaveLength(10)
    for (const row of rows) {
      const [, bytecodes, , method] = /^ *([\d,]+) bytecodes +([\d,]+) calls {2}(.+)$/.exec(row)!
      expect(Number(bytecodes!.replaceAll(',', '')), method).toBe(all.get(method!)![0])
    }
  })

  // Once, where all is asked for: it waits for a dozen seconds, and what it tries is not the JDK's.
  it.runIf(FULL && jdk === jdks.at(-1))(
    'a report that outlives its session harms neither the target nor the next session',
    async () => {
      const slow = await profilerJar(
        jdk,
        {
          'bad/Slow.java': `
          package bad;
          import jfluid.api.*;
          public class Slow implements Profiler {
            public int register(Thread t, CallingContext root) { return 100; }
            public int report(CallingContext root, CallingContext current) {
              System.out.println("reporting");
              try { Thread.sleep(9_000); } catch (InterruptedException e) { throw new IllegalStateException(e); }
              return Integer.MAX_VALUE;
            }
          }`,
        },
        'bad.Slow',
      )
      const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Blocks'), 'fix.Blocks', 'serve'])
      await java.line(/ready/)
      const first = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes', '--profiler', slow)
      await first.started
      java.send('run 20') // sleeps in its first report
      await java.line(/^reporting/)
      const cut = await first.stop()
      expect(cut.warnings).toContain(
        'the profiler failed: java.lang.IllegalStateException: a report has not returned, so end() was not called',
      )
      const second = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes')
      await second.started
      await java.line(/done/) // the call of before, which belongs to no session now
      java.send('run 20')
      await java.line(/done/, 2)
      const profile = await second.stop()
      const third = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes')
      await third.started
      java.send('run 20')
      await java.line(/done/, 3)
      expect(bytecodesByMethod(profile)).toEqual(bytecodesByMethod(await third.stop()))
    },
  )

  it('of samples: is handed each, and says after how many bytecodes the thread takes its next', async () => {
    const tuning = {
      'own/Tuning.java': `
        package own;
        import jfluid.api.*;
        public class Tuning implements Profiler {
          private CallingContext root;
          private int reports;
          public int register(Thread t, CallingContext root) { this.root = root; return 1000; }
          public int report(CallingContext root, CallingContext current) {
            if (current.caller() == null || current.bytecodes() == 0) throw new IllegalStateException("nowhere");
            reports++;
            return 5000;
          }
          private static long sum(CallingContext context) {
            long sum = context.bytecodes();
            for (CallingContext callee : context.callees()) sum += sum(callee);
            return sum;
          }
          public void end() { System.out.println(reports + " reports of " + sum(root)); }
        }`,
    }
    const jar = await profilerJar(jdk, tuning, 'own.Tuning')
    const file = join(temporaryDirectory('jfluid-tuning-'), 'p.jfluid')
    const program = [jdk.java, '-cp', await compileFixture(jdk, 'Blocks'), 'fix.Blocks', 'run', '3000', '3']
    const flags = [
      '--root',
      ROOT,
      '--mode',
      'sample',
      '--every',
      '100bc',
      '--profiler',
      jar,
      '--record',
      file,
    ]
    const ran = await jfluid('run', ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const { sampling, warnings } = await readProfileJson(file)
    expect(warnings).toEqual([])
    const { samples, bytecodes } = sampling!
    expect(ran.stdout).toContain(`${samples} reports of ${bytecodes}`)
    expect(samples).toBeGreaterThan(50)
    expect((bytecodes! - 1000) / (samples! - 1)).toBeGreaterThan(4990)
    expect((bytecodes! - 1000) / (samples! - 1)).toBeLessThan(5100)
  })

  it('is refused with a reason', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Blocks'), 'fix.Blocks', 'serve'])
    await java.line(/ready/)
    const attempt = (jar: string, ...more: string[]) =>
      jfluid('record', String(java.pid), '--root', ROOT, '--out', '/dev/null', '--profiler', jar, ...more)
    const mode = ['--mode', 'bytecodes']
    expect(await attempt(api)).toMatchObject({ code: 64, stderr: expect.stringContaining('--profiler') })
    expect(await attempt(api, '--mode', 'count')).toMatchObject({ code: 64 })
    expect(await attempt(api, '--mode', 'bytecodes', '--follow-threads')).toMatchObject({ code: 64 })
    const nameless = await attempt(api, ...mode)
    expect(nameless.stderr).toContain('has no Jfluid-Profiler')
    expect(nameless.code).toBe(65)
    const missing = await attempt('/nowhere/p.jar', ...mode)
    expect(missing).toMatchObject({
      code: 65,
      stderr: expect.stringContaining('the JVM cannot read /nowhere/p.jar'),
    })
    const other = await attempt(await profilerJar(jdk, badProfiler('end'), 'bad.Other'), ...mode)
    expect(other).toMatchObject({ code: 65, stderr: expect.stringContaining('bad.Other cannot be made') })
  })
})
