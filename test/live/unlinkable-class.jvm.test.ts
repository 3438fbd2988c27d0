// A class that gets probes when it is loaded, and that the JVM cannot link because one of its classes is missing. Frameworks load such classes
// to inspect optional features.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
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
  'opt/Plain': 'package opt; public class Plain implements Job { public int run() { return 7; } }',
  'opt/Host': `package opt;
    public class Host {
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
        for (String line; (line = in.readLine()) != null; ) System.out.println("ran " + root(line));
      }
    }`,
}

forEachJdk((jdk) => {
  describe('a class with probes that cannot be linked', () => {
    it('a class that was loaded with probes and cannot be linked is named, and does not make the detach fail', async () => {
      const classes = await compileJava(jdk, SOURCES)
      rmSync(join(classes, 'opt/Missing.class'))
      const java = startJava(jdk, ['-cp', classes, 'opt.Host'])
      await java.line(/^ready/)
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
  })
})
