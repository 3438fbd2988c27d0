// Counts calls with the JDK's debugger instead of probes: see Oracle.java.
//
// The debugger is independent of jfluid, so equal counts verify jfluid. It is slow (a few thousand calls per second): use small arguments
// for the program.

import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiledFiles, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'

export interface OracleRequest {
  jdk: Jdk
  classpath: string
  mainClass: string
  args?: readonly string[]
  /** `class.method`, optionally with `(descriptor)`. A nested class is written with `$`, as in the JVM. */
  root: string
  /**
   * JDI class filters: `shop.*`, `fix.KnownTree`. Methods of other classes are left out, and calls of their callees are attributed to their
   * callers.
   */
  include: readonly string[]
  exclude?: readonly string[]
  /** Lines for the program's stdin, which is closed afterwards. */
  send?: readonly string[]
  /** Options of the target JVM. */
  options?: readonly string[]
}

export interface OracleCounts {
  /** Calls below the root, keyed by `class.method(descriptor)`. */
  methods: Map<string, number>
  /** Calls per calling context, keyed by the names from the outermost root downwards, joined by semicolons. */
  contexts: Map<string, number>
  /** Number of method entries, including entries outside the root. */
  events: number
  /** Output of the program. */
  stdout: string
}

interface OracleOutput {
  methods: Record<string, number>
  contexts: Record<string, number>
  events: number
  exitCode: number
  stdout: string
}

const program = join(dirname(fileURLToPath(import.meta.url)), 'Oracle.java')

/** @throws Error if the program does not end with exit code 0 */
export async function countCalls(request: OracleRequest): Promise<OracleCounts> {
  const {
    jdk,
    classpath,
    mainClass,
    args = [],
    root,
    include,
    exclude = [],
    send = [],
    options = [],
  } = request
  const oracle = startJava(jdk, [
    ...['-cp', await compiledFiles(jdk, [program], 17), 'Oracle'],
    ...['--root', root],
    ...include.flatMap((filter) => ['--include', filter]),
    ...exclude.flatMap((filter) => ['--exclude', filter]),
    ...send.flatMap((line) => ['--send', line]),
    ...['--', ...options, '-cp', classpath, mainClass, ...args],
  ])
  const { code } = await oracle.exit
  assert.equal(code, 0, `the oracle failed:\n${oracle.stderr()}`)
  const output = JSON.parse(oracle.stdout()) as OracleOutput
  assert.equal(output.exitCode, 0, `${mainClass} failed:\n${output.stdout}${oracle.stderr()}`)
  return {
    methods: new Map(Object.entries(output.methods)),
    contexts: new Map(Object.entries(output.contexts)),
    events: output.events,
    stdout: output.stdout,
  }
}
