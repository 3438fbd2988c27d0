// Steps through a program with the JDK's debugger: see Stepper.java.

import { join } from 'node:path'
import { compileJava, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

const JDI = ['--add-modules', 'jdk.jdi']

/**
 * @param program  main class and arguments
 * @param pattern  JDI filter of classes: `shop.*`, `fix.Blocks*`
 * @returns the lines printed by the stepper, without its last line "end"
 */
export async function stepThrough(
  stepper: 'LineTrace' | 'StepCounter',
  jdk: Jdk,
  classes: string,
  program: string,
  pattern: string,
): Promise<string[]> {
  const sources = ['Stepper', stepper].map((name) => join(import.meta.dirname, `${name}.java`))
  const tools = await compileJava(jdk, {}, { release: null, options: [...JDI, ...sources] })
  const java = startJava(jdk, [...JDI, '-cp', tools, stepper, jdk.home, classes, program, pattern])
  await java.line(/^end/)
  return java.stdout().trim().split('\n').slice(0, -1)
}
