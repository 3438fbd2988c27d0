// User profilers (--profiler): the example profiler, and profilers with errors.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { calmWarnings, jfluid, readProfileJson, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { api, bytecodesByMethod, profilerJar } from './profiler-jar.ts'

const root = join(import.meta.dirname, '../..')
const ROOT = 'fix.Blocks.root'

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

describe.each(newestOrAll)('user profilers on JDK $version', (jdk) => {
  const file = join(temporaryDirectory('jfluid-top-'), 'top.txt')
  let java: JavaProcess
  beforeAll(async () => {
    const classes = await compileFixture(jdk, 'Blocks')
    java = startJava(jdk, [`-Dtop.file=${file}`, '-cp', classes, 'fix.Blocks', 'serve'])
    await java.line(/ready/)
  })
  const recorded = async (jar: string) => {
    const recording = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes', '--profiler', jar)
    await recording.started
    await ask(java, 'threads 4 1000', /^done/)
    await ask(java, 'run 300', /^done/)
    const profile = await recording.stop()
    await ask(java, 'run 20', /^done/)
    return profile
  }

  it('the example profiler has the same counts as the profile, including calls of ended threads', async () => {
    const jar = await profilerJar(jdk, join(root, 'examples/03-profiler/src'), 'top.TopMethods')
    const profile = await recorded(jar)
    expect(calmWarnings(profile.warnings)).toEqual([])
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

  it.each(FULL ? (['register', 'report', 'end'] as const) : (['report'] as const))(
    'an exception of the user profiler in its method %s is reported and affects nothing else',
    async (where) => {
      const profile = await recorded(await profilerJar(jdk, badProfiler(where), 'bad.Bad'))
      const told = `the profiler failed: java.lang.IllegalStateException: bad in ${where}`
      expect(calmWarnings(profile.warnings)).toEqual([told])
      expect(profile.instrumentation.gaps).toBe(0)
      expect(bytecodesByMethod(profile).get('fix.Blocks.root(I)I')![1]).toBe(5)
    },
  )

  itInFull('under jfluid run, a user profiler ends when the JVM ends', async () => {
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

  itInFull(
    'a sampling profiler receives each sample and sets the number of bytecodes until the next sample',
    async () => {
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
      expect(calmWarnings(warnings)).toEqual([])
      const { samples, bytecodes } = sampling!
      expect(ran.stdout).toContain(`${samples} reports of ${bytecodes}`)
      expect(samples).toBeGreaterThan(50)
      expect((bytecodes! - 1000) / (samples! - 1)).toBeGreaterThan(4990)
      expect((bytecodes! - 1000) / (samples! - 1)).toBeLessThan(5100)
    },
  )

  itInFull('an unusable profiler is refused with a reason', async () => {
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
