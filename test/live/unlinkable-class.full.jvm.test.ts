// A class that gets probes when it is loaded, and that the JVM cannot link because one of its classes is missing. Frameworks load such classes
// to inspect optional features. A class can also be linked although classes in its signatures are missing.

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forOldestJdk, type Jdk } from '../support/jdks.ts'
import { callsByMethod, lines, startRecording } from '../support/jfluid.ts'

const SOURCES = {
  'opt/Job': 'package opt; public interface Job { int run(); }',
  'opt/Base': 'package opt; public class Base { }',
  'opt/Missing': 'package opt; public class Missing extends Base { }',
  // The verifier loads Missing to check that it is a Base.
  'opt/Optional': `package opt;
    public class Optional implements Job {
      Base make() { return new Missing(); }
      public int run() { return make() == null ? 0 : 1; }
    }`,
  // No instruction needs Missing to be loaded, but listing the constructors, methods or fields does.
  'opt/Partial': `package opt;
    public class Partial implements Job {
      Missing it;
      public Partial() { }
      Partial(Missing it) { this.it = it; }
      Missing it() { return it; }
      public int run() { return 3; }
    }`,
  'opt/Plain': 'package opt; public class Plain implements Job { public int run() { return 7; } }',
  // Its agent makes Partial invalid in each retransformation after the command "broken".
  'opt/Host': `package opt;
    import java.lang.instrument.*;
    public class Host implements ClassFileTransformer {
      static volatile boolean broken;
      public static void premain(String options, Instrumentation jvm) { jvm.addTransformer(new Host(), true); }
      public byte[] transform(ClassLoader l, String name, Class<?> c, java.security.ProtectionDomain d, byte[] bytes) {
        return broken && c != null && "opt/Partial".equals(name) ? new byte[] {0} : null;
      }
      static int root(String name) throws Exception {
        Class<?> c = Class.forName(name, false, Host.class.getClassLoader());
        try {
          return ((Job) c.getDeclaredConstructor().newInstance()).run();
        } catch (NoClassDefFoundError missing) {
          return -1;
        }
      }
      public static void main(String[] args) throws Exception {
        System.out.println("ready");
        var in = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
          if (line.equals("broken")) System.out.println("broken " + (broken = true));
          else if (line.equals("new Partial")) System.out.println("ran " + new Partial().run());
          else System.out.println("ran " + root(line));
        }
      }
    }`,
}

async function startHost(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, SOURCES)
  rmSync(join(classes, 'opt/Missing.class'))
  const [jar, manifest] = ['host.jar', 'manifest'].map((it) => join(temporaryDirectory(), it))
  writeFileSync(manifest!, 'Premain-Class: opt.Host\nCan-Retransform-Classes: true\n')
  execFileSync(join(jdk.tools, 'jar'), ['cfm', jar!, manifest!, '-C', classes, '.'])
  const java = startJava(jdk, [`-javaagent:${jar}`, '-cp', jar!, 'opt.Host'])
  await java.line(/^ready/)
  return java
}

forOldestJdk((jdk) => {
  describe('a class with probes whose optional classes are missing', () => {
    it('a class that was loaded with probes and cannot be linked is named, and does not make the detach fail', async () => {
      const java = await startHost(jdk)
      const recording = startRecording(java.pid, '--root', 'opt.Host.root', '--scheme', 'b')
      await recording.started
      java.send('opt.Plain')
      await java.line(/^ran 7$/)
      java.send('opt.Optional')
      await java.line(/^ran -1$/)
      const profile = await recording.stop()
      expect(lines(callsByMethod(profile))).toContain('opt.Plain.run()I 1')
      expect(profile.detach).toMatchObject({
        refusedClasses: 0,
        left: ['inactive probes in 1 class that the JVM cannot link and so cannot run: opt.Optional'],
      })
      expect(recording.process.stderr()).toContain('cannot link and so cannot run: opt.Optional')
    })

    it('a class that can be linked and keeps its probes makes the detach fail, although its members cannot be listed', async () => {
      const java = await startHost(jdk)
      const recording = startRecording(java.pid, '--root', 'opt.Host.root', '--scheme', 'b')
      await recording.started
      java.send('opt.Plain')
      await java.line(/^ran 7$/)
      java.send('opt.Partial')
      await java.line(/^ran -1$/)
      java.send('broken')
      await java.line(/^broken/)
      const { detach } = await recording.stop(STATUS.notRestored)
      expect(detach).toMatchObject({ refusedClasses: 1, left: [] })
      expect(recording.process.stderr()).toContain(
        '1 class kept its probes, which are inactive: opt.Partial (',
      )
      java.send('new Partial')
      await java.line(/^ran 3$/)
    })
  })
})
