// The unit lane has no Java: none in its environment, and a test that starts one from a known path fails.

import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
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

/** Lets a function of node:child_process be called only with commands of no JDK. */
function guard(name: 'spawn' | 'spawnSync' | 'execFile' | 'execFileSync' | 'exec' | 'execSync'): void {
  const isShell = name.startsWith('exec') && !name.startsWith('execFile')
  const guarded = new Proxy(childProcess[name] as (...args: unknown[]) => unknown, {
    apply(target, self, args: [string, ...unknown[]]) {
      const words = isShell ? args[0].split(/[\s;&|"'()]+/) : [args[0]]
      for (const word of words) refuse(word)
      return Reflect.apply(target, self, args)
    },
  })
  Object.defineProperty(childProcess, name, { value: guarded })
}

for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'exec', 'execSync'] as const) {
  guard(name)
}
syncBuiltinESMExports() // named imports see it, too
