// A user profiler (--profiler) sleeps in a report until after the end of its session.

import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { bytecodesByMethod, profilerJar } from './profiler-jar.ts'

const jdk = newest // the test does not depend on the JDK
const ROOT = 'fix.Blocks.root'

it('a user profiler that outlives its session affects neither the target nor the next session', async () => {
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
  java.send('run 20') // the profiler sleeps in its first report
  await java.line(/^reporting/)
  const cut = await first.stop()
  expect(cut.warnings).toContain(
    'the profiler failed: java.lang.IllegalStateException: a report has not returned, so end() was not called',
  )
  const second = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes')
  await second.started
  await java.line(/done/) // printed at the end of the earlier call, whose session has ended
  java.send('run 20')
  await java.line(/done/, 2)
  const profile = await second.stop()
  const third = startRecording(java.pid, '--root', ROOT, '--mode', 'bytecodes')
  await third.started
  java.send('run 20')
  await java.line(/done/, 3)
  expect(bytecodesByMethod(profile)).toEqual(bytecodesByMethod(await third.stop()))
})
