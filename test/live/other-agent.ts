// The program of fixtures/other-agent. Its own agent replaces the callee of one method.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileJava, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

const source = join(dirname(fileURLToPath(import.meta.url)), '..', 'fixtures', 'other-agent')

/** Starts `java -javaagent:…=option fix.Other`. Without an option its agent adds its transformer only on a command. */
export async function startOther(jdk: Jdk, option?: 'on' | 'off'): Promise<JavaProcess> {
  const classes = await compileJava(jdk, source)
  const dir = temporaryDirectory('jfluid-agent-')
  const [jar, manifest] = [join(dir, 'other.jar'), join(dir, 'manifest')]
  writeFileSync(manifest, 'Premain-Class: fix.Other\nCan-Retransform-Classes: true\n')
  execFileSync(join(jdk.tools, 'jar'), ['cfm', jar, manifest, '-C', classes, '.'])
  const agent = `-javaagent:${jar}${option === undefined ? '' : `=${option}`}`
  const java = startJava(jdk, ['-Xlog:redefine+class+load', agent, '-cp', jar, 'fix.Other'])
  await java.line(/ready/)
  return java
}

/** Sends the commands one after the other and returns the counts of doOne and doTwo in the last answer. */
export async function tell(
  java: JavaProcess,
  ...commands: string[]
): Promise<{ ones: number; twos: number }> {
  let answer = ''
  for (const command of commands) {
    const before = java.stdout().split(`done ${command} `).length
    java.send(command)
    answer = await java.line(new RegExp(`^done ${command} `), before)
  }
  const [ones, twos] = answer.split(' ').slice(-2).map(Number)
  return { ones, twos }
}

/**
 * Makes the other agent retransform the callee, and waits until jfluid has redefined classes in response.
 *
 * @param redefined  class that jfluid redefines in response. Default: the class of the callers of the new callee
 */
export async function retransform(java: JavaProcess, redefined = 'fix.Other'): Promise<void> {
  const line = new RegExp(` redefined name=${redefined.replace('$', '\\$')}, `, 'g')
  const before = java.stdout().match(line)?.length ?? 0
  await tell(java, 'retransform')
  // The JVM also logs the redefinition by the other agent.
  await java.line(new RegExp(line.source), before + (redefined === 'fix.Other$Work' ? 2 : 1))
}
