// A program with an agent. The agent changes the members of one class at load, but not at redefinition. The JVM therefore refuses to
// redefine this class by any agent.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

/** `java -javaagent:reshaping.jar -cp reshaping.jar Reshaping` runs `task` for each line of its input. */
const RESHAPING = `
  import java.lang.instrument.*;
  import java.nio.charset.StandardCharsets;
  import java.security.ProtectionDomain;
  public class Reshaping {
    /** Renames the field of Reshaped when the class is loaded, but not when it is redefined. */
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

export async function startReshaping(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileJava(jdk, { 'Reshaping.java': RESHAPING })
  const dir = temporaryDirectory('jfluid-agent-')
  const [jar, manifest] = [join(dir, 'reshaping.jar'), join(dir, 'manifest')]
  writeFileSync(manifest, 'Premain-Class: Reshaping\nCan-Retransform-Classes: true\n')
  execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
  const options = jdk.version >= 21 ? ['-XX:+EnableDynamicAgentLoading'] : []
  const java = startJava(jdk, [...options, `-javaagent:${jar}`, '-cp', jar, 'Reshaping'])
  await java.line(/ready/)
  return java
}

export const SAID = 'the JVM says "attempted to change the schema (add/remove fields)"'
export const WHY =
  'Another agent adds members to the class only when it is loaded, or only when it is redefined'
