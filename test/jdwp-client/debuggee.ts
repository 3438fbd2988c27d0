// The program run by the real JVMs of these tests.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDirectory } from '../support/cache.ts'
import { compileJava, type JavaProcess, startJava } from '../support/java-process.ts'
import { type Jdk, oldest } from '../support/jdks.ts'
import type { Talks } from './known.ts'

let compiled: Promise<string> | undefined

/** Returns the classes, which are compiled once for all JDKs and test files. The cache is keyed by the hash of the sources. */
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
    if (!existsSync(classes)) throw error // otherwise another process has compiled them first
  }
  return classes
}

export const SERVER = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'

export interface Debuggee extends Talks {
  readonly java: JavaProcess
  /** Returns the address for the `nth` debugger, counted from 1: a JVM uses a new port after each debugger. */
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
