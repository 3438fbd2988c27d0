// A jar with a user profiler, and the bytecode counts of a profile.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import type { JsonNode, JsonProfile } from '../support/jfluid.ts'

export const api = join(import.meta.dirname, '../../dist/agent/jfluid-api.jar')

/** Builds a jar with a profiler from a directory of sources or from source texts. */
export async function profilerJar(
  jdk: Jdk,
  sources: string | Record<string, string>,
  name: string,
): Promise<string> {
  const classes = await compileJava(jdk, sources, { options: ['-cp', api] })
  const dir = temporaryDirectory('jfluid-profiler-')
  const [manifest, jar] = [join(dir, 'manifest'), join(dir, 'p.jar')]
  writeFileSync(manifest, `Jfluid-Profiler: ${name}\n`)
  const tool = join(jdk.tools, 'jar')
  execFileSync(tool, ['--create', '--file', jar, '--manifest', manifest, '-C', classes, '.'])
  return jar
}

export function bytecodesByMethod({ merged }: JsonProfile): Map<string, [number, number]> {
  const sums = new Map<string, [number, number]>()
  const visit = (node: JsonNode): void => {
    const method = `${node.class}.${node.method}${node.descriptor}`
    const [bytecodes, calls] = sums.get(method) ?? [0, 0]
    sums.set(method, [bytecodes + node.selfBytecodes!, calls + node.calls])
    node.children.forEach(visit)
  }
  merged.forEach(visit)
  return sums
}
