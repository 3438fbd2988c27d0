// Counts calls with the JDK's debugger instead of with probes: see Oracle.java, which does it.
//
// It knows nothing of jfluid, so equal counts mean something. It is slow (a few thousand calls a
// second): give the program small arguments.

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
  /** `class.method`, or with `(descriptor)`; the class with `$`, as the JVM names it. */
  root: string
  /** JDI class filters: `shop.*`, `fix.KnownTree`. Everything else is transparent. */
  include: readonly string[]
  exclude?: readonly string[]
  /** Lines for the program's stdin, which is closed after them. */
  send?: readonly string[]
  /** Options of the target JVM. */
  options?: readonly string[]
}

export interface OracleCounts {
  /** Calls under the root by `class.method(descriptor)`. */
  methods: Map<string, number>
  /** Calls by calling context: such names from the outermost root down, joined by semicolons. */
  contexts: Map<string, number>
  /** Method entries looked at, also those outside the root. */
  events: number
  /** What the program wrote. */
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
