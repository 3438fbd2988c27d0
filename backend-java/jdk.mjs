// Finds a JDK for building: in JAVA_HOME, then in the PATH, then in the folder of JDKs that JFLUID_JDKS names (/usr/lib/jvm by default).

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Paths of `java`, `javac` and `jar` of the first JDK 17 or newer, or null. */
export function findJdk() {
  const bins = []
  if (process.env.JAVA_HOME) bins.push(join(process.env.JAVA_HOME, 'bin'))
  bins.push(...(process.env.PATH ?? '').split(delimiter).filter(Boolean))
  const installed = process.env.JFLUID_JDKS ?? '/usr/lib/jvm'
  if (existsSync(installed)) {
    bins.push(...readdirSync(installed).map((name) => join(installed, name, 'bin')))
  }
  for (const bin of bins) {
    const [java, javac, jar] = ['java', 'javac', 'jar'].map((name) => join(bin, name))
    if (![java, javac, jar].every((file) => existsSync(file))) continue
    const version = execFileSync(javac, ['-version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    if (Number(/javac (\d+)/.exec(version)?.[1]) >= 17) return { java, javac, jar }
  }
  return null
}

/** All Java sources below a folder, in a stable order. */
export function javaSources(dir) {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.java'))
    .sort()
    .map((name) => join(dir, name))
}
