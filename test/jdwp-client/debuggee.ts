// The program that real JVMs run here.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '../support/cache.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { type Jdk, oldest } from '../support/jdks.ts'
import type { Talks } from './known.ts'

let compiled: Promise<string> | undefined

/** One compilation does for every JDK and every test file: it is kept, by what it is of. */
export function debuggeeClasses(): Promise<string> {
  compiled ??= compileOnce(join(import.meta.dirname, 'debuggee'))
  return compiled
}

async function compileOnce(sources: string): Promise<string> {
  const hash = createHash('sha256').update(oldest.full)
  for (const name of readdirSync(join(sources, 'dbg')).sort())
    hash.update(readFileSync(join(sources, 'dbg', name)))
  const classes = join(cacheDirectory(), `debuggee-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(classes)) return classes
  mkdirSync(cacheDirectory(), { recursive: true })
  const aside = mkdtempSync(join(cacheDirectory(), '.compiling-'))
  await compileJava(oldest, sources, { outDir: aside, options: ['-g'] })
  try {
    renameSync(aside, classes)
  } catch (error) {
    rmSync(aside, { recursive: true })
    if (!existsSync(classes)) throw error // otherwise somebody else was faster
  }
  return classes
}

export const SERVER = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'

export interface Debuggee extends Talks {
  readonly java: JavaProcess
  /** Of the debugger that comes `nth`, from 1: a JVM takes a new one after each. */
  port(nth?: number): Promise<number>
}

export async function startDebuggee(
  jdk: Jdk,
  agent: string = SERVER,
  more: readonly string[] = [],
): Promise<Debuggee> {
  const cwd = await debuggeeClasses()
  const java = startJava(jdk, [agent, ...more, '-cp', '.', 'dbg.Debuggee'], { cwd })
  let said = 0
  return {
    java,
    say: (word) => {
      java.send(word)
      return java.line(/^(returned|done|ticks)/, ++said)
    },
    port: async (nth = 1) => Number(/\d+$/.exec(await java.line(/^Listening for transport/, nth))![0]),
  }
}
