// JDK modules with probes in every method, for a JVM that runs on them.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { EXACT_TIME, type Recipe } from '../../src/instrument/class.ts'
import { SiteNumbers } from '../../src/instrument/sites.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { compileRuntime, type ImageClass, instrumentAll, SILENT_RUNTIME, writeClass } from './jvm.ts'

const WAITS: Recipe = { tells: 'time', waits: { nativeWaits: true, jdk: true } }
const SITES: Recipe = { tells: 'time', sites: new SiteNumbers(true) }
const RECIPES = [EXACT_TIME, WAITS, SITES]

/** Valid reasons for a JDK method without probes. */
const EXPECTED =
  /^(abstract|native|would exceed 8000 bytes: HotSpot never compiles larger methods|an empty finalize.*)$/

export interface PatchedModules {
  /** Options of the JVM that runs on the modules. */
  readonly patch: readonly string[]
  /** Module and name of each class. */
  readonly names: readonly string[]
  /** Expected output of the verifier for the damaged classes. */
  readonly damaged: readonly string[]
}

/** @param toDamage  classes that are damaged so that no JVM may accept them */
export async function patchedModules(
  jdk: Jdk,
  image: readonly ImageClass[],
  toDamage: readonly string[] = [],
): Promise<PatchedModules> {
  const patches = temporaryDirectory()
  const names: string[] = []
  const damaged: string[] = []
  const reasons = new Map<string, number>()
  let methods = 0
  let milliseconds = 0
  for (const { module, bytes } of image) {
    const started = performance.now()
    const classFile = parseClassFile(bytes)
    // Every third class also has probes for waits, and every third class has probes for call sites.
    const recipe = RECIPES[names.length % RECIPES.length]
    const result = instrumentAll(classFile, (index) => ((methods + index) * 37) % (1 << 22), recipe)
    milliseconds += performance.now() - started
    methods += classFile.methods.length
    for (const { reason } of result.skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    const name = classFile.name.replaceAll('/', '.')
    const damage = toDamage.includes(name)
    if (damage) damaged.push(`rejected ${name}`)
    writeClass(join(patches, module), classFile.name, damage ? withoutStack(result.bytes) : result.bytes)
    names.push(`${module} ${name}`)
  }
  const rate = Math.round((1000 * image.length) / milliseconds)
  console.info(`JDK ${jdk.version}: ${image.length} classes, ${methods} methods, ${rate} classes/s`, reasons)
  for (const reason of reasons.keys()) assert.match(reason, EXPECTED)

  await compileRuntime(jdk, SILENT_RUNTIME, join(patches, 'java.base'))
  const patch = readdirSync(patches).flatMap((module) => [
    '--patch-module',
    `${module}=${join(patches, module)}`,
  ])
  return { patch, names, damaged }
}

/** Sets max_stack of every method to 0, so that each method that uses the stack is invalid. */
function withoutStack(bytes: Uint8Array): Uint8Array {
  const damaged = Uint8Array.from(bytes)
  for (const { code } of parseClassFile(bytes).methods) {
    if (code !== undefined) damaged.fill(0, code.offset, code.offset + 2)
  }
  return damaged
}
