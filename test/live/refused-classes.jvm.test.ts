// Another agent gives a class other members when it is loaded than when it is redefined. So the JVM refuses to redefine it,
// whatever jfluid asks for.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { callsByMethod, jfluid, lines, startRecording } from '../support/jfluid.ts'

/** `java -javaagent:reshaping.jar -cp reshaping.jar Reshaping`: it runs `task` for each line of its input. */
const RESHAPING = `
  import java.lang.instrument.*;
  import java.nio.charset.StandardCharsets;
  import java.security.ProtectionDomain;
  public class Reshaping {
    /** Renames the field of Reshaped as it is loaded, and not when it is redefined. */
    public static void premain(String options, Instrumentation instrumentation) {
      instrumentation.addTransformer(new ClassFileTransformer() {
        public byte[] transform(ClassLoader l, String name, Class<?> redefined, ProtectionDomain d, byte[] bytes) {
          if (redefined != null || !"Reshaped".equals(name)) return null;
          String text = new String(bytes, StandardCharsets.ISO_8859_1);
          return text.replace("fieldOne", "fieldTwo").getBytes(StandardCharsets.ISO_8859_1);
        }
      }, true);
    }
    static void task() { new Reshaped().work(); Other.help(); }
    public static void main(String[] args) throws Exception {
      task();
      System.out.println("ready");
      int runs = 0;
      while (System.in.read() != -1) { task(); System.out.println("ran " + ++runs); }
    }
  }
  class Reshaped {
    int fieldOne;
    void work() { step(); step(); Other.help(); }
    void step() { fieldOne++; }
  }
  class Other { static int helped; static void help() { helped++; } }`

async function startReshaping(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, { 'Reshaping.java': RESHAPING })
  const dir = temporaryDirectory('jfluid-agent-')
  const [jar, manifest] = [join(dir, 'reshaping.jar'), join(dir, 'manifest')]
  writeFileSync(manifest, 'Premain-Class: Reshaping\nCan-Retransform-Classes: true\n')
  execFileSync(join(jdk.home, 'bin', 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
  const options = jdk.version >= 21 ? ['-XX:+EnableDynamicAgentLoading'] : []
  const java = startJava(jdk, [...options, `-javaagent:${jar}`, '-cp', jar, 'Reshaping'])
  await java.line(/ready/)
  return java
}

const SAID = 'the JVM says "attempted to change the schema (add/remove fields)"'
const WHY = 'Another agent gives the class other members when it is loaded than when it is redefined'

describe('a class that another agent has changed as it was loaded', () => {
  forEachJdk((jdk) => {
    it('is no root: the error says who refused it, and why', async () => {
      const java = await startReshaping(jdk)
      const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
      const options = ['--root', 'Reshaped.work', '--duration', '1s', '--out', file]
      const { code, stderr } = await jfluid('record', String(java.pid), ...options)
      expect(stderr).toContain(
        `jfluid: root 'Reshaped.work' could not be instrumented: Reshaped.work(): its class was refused: ${SAID}\n` +
          `  ${WHY} (jfluid doctor names the agents): run the program without it, or name a method of another class`,
      )
      expect(code).toBe(69)
      java.send('')
      await java.line(/^ran 1$/)
      expect(java.stderr()).toBe('')
    })

    it('is told below a root: how many classes were refused, which, and why; the others are counted', async () => {
      const java = await startReshaping(jdk)
      const recording = startRecording(java.pid, '--root', 'Reshaping.task')
      await recording.started
      for (let runs = 1; runs <= 5; runs++) {
        java.send('')
        await java.line(new RegExp(`^ran ${runs}$`))
      }
      const profile = await recording.stop()
      expect(profile.warnings).toEqual([
        expect.stringContaining(
          `1 class refused: Reshaped (${SAID}); calls of 3 methods are missing, and their time is their callers'. ${WHY}`,
        ),
      ])
      expect(recording.process.stderr()).toContain('warning: 1 class refused: Reshaped')
      // Each of 5 runs calls Other.help() twice: by itself, and by Reshaped.work().
      expect(lines(callsByMethod(profile))).toEqual(['Other.help()V 10', 'Reshaping.task()V 5'])
      // The third is the other agent's transform(), which the JVM may call.
      expect(profile.instrumentation.instrumentedMethods).toBe(3)
      // The JVM took no probes of that class: none are left in it.
      expect(profile.detach).toMatchObject({ refusedClasses: 0, left: [] })
    })
  })
})
