// Cost of the option of `jfluid agent-path` for the start of a JVM, measured until the JVM ends: a program that prints hello, and javac
// with one class. A Java agent that does nothing shows the JVM's own part of the cost.

import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, median, project, temporaryDirectory } from './support.mjs'

const ROUNDS = 15
const NOTHING = `public class Nothing {
  public static void premain(String options, java.lang.instrument.Instrumentation jvm) {}
  public static void main(String[] args) { System.out.println("hello"); }
}`

export async function agentStart(jdks) {
  for (const jdk of jdks) {
    const dir = temporaryDirectory()
    const source = join(dir, 'Nothing.java')
    writeFileSync(source, NOTHING)
    const classes = await compile(jdk, [source])
    const manifest = join(dir, 'manifest')
    writeFileSync(
      manifest,
      'Premain-Class: Nothing\nCan-Redefine-Classes: true\nCan-Retransform-Classes: true\n',
    )
    const empty = join(dir, 'nothing.jar')
    const packed = spawnSync(join(jdk.home, 'bin/jar'), ['cfm', empty, manifest, '-C', classes, '.'])
    if (packed.status !== 0) throw new Error(String(packed.stderr))
    const options = {
      'without an agent': [],
      'an agent that does nothing': [`-javaagent:${empty}`],
      'jfluid agent-path': [`-javaagent:${join(project, 'dist/agent/jfluid-agent.jar')}`],
    }
    const programs = {
      hello: ['-cp', classes, 'Nothing'],
      javac: ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '-d', dir, source],
    }
    for (const [name, words] of Object.entries(programs)) {
      const times = Object.keys(options).map(() => [])
      // The options alternate, so that other load on the machine affects all of them.
      for (let round = 0; round < ROUNDS; round++) {
        Object.values(options).forEach((option, i) => {
          const begun = performance.now()
          const { status, stderr } = spawnSync(jdk.java, [...option, ...words])
          if (status !== 0) throw new Error(String(stderr))
          times[i].push(performance.now() - begun)
        })
      }
      const told = Object.keys(options).map((it, i) => `${it} ${median(times[i]).toFixed(0)} ms`)
      console.log(`  JDK ${jdk.version}  ${name}: ${told.join(', ')}`)
    }
  }
}
