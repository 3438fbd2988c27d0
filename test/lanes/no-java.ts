// The unit lane has no Java: none in its environment, and a test that starts one from a known path fails.

import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { isOfJdk } from './of-jdk.ts'

process.env.JFLUID_LANE = 'unit' // support/jdks.ts looks for no JDK
process.env.PATH = inject('pathWithoutJava')
for (const name of ['JAVA_HOME', 'JDK_HOME', 'JFLUID_JDKS']) delete process.env[name]

function refuse(command: string): void {
  if (isOfJdk(command)) {
    throw new Error(`${command} in the unit lane: a test that starts a JVM or javac is named *.jvm.test.ts`)
  }
}

type Start = (...args: unknown[]) => unknown

/** Wraps a function of node:child_process so that it refuses commands of a JDK. The promisified function also refuses them. */
function guarded(start: Start): Start {
  const only: Start = (...args) => {
    const words = args
      .slice(0, 2)
      .flat()
      .filter((it) => typeof it === 'string')
    const isLine = words.length === 1
    const commands = isLine ? words[0]!.split(/[\s;&|"'()]+/) : words[0] === 'env' ? words : words.slice(0, 1)
    for (const command of commands) refuse(command)
    return start(...args)
  }
  const promised = Reflect.get(start, promisify.custom) as Start | undefined
  if (promised !== undefined) Object.defineProperty(only, promisify.custom, { value: guarded(promised) })
  return only
}

function guard(name: 'spawn' | 'spawnSync' | 'execFile' | 'execFileSync' | 'exec' | 'execSync'): void {
  Object.defineProperty(childProcess, name, { value: guarded(childProcess[name] as Start) })
}

// Executed once per process, which runs many files.
const GUARDED = Symbol.for('jfluid: processes of a JDK are refused')
if (!Reflect.has(childProcess, GUARDED)) {
  Object.defineProperty(childProcess, GUARDED, { value: true })
  for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'exec', 'execSync'] as const) {
    guard(name)
  }
  syncBuiltinESMExports() // applies it to named imports
}
