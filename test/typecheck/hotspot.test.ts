// The type checker and HotSpot's verifier give the same verdict on damaged code. JFLUID_SEED repeats a
// run; JFLUID_FULL=1 makes it longer.

import assert from 'node:assert/strict'
import { it } from 'vitest'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { type Hierarchy, KNOWS_NOTHING, TypeChecker } from '../../src/typecheck/check.ts'
import { compileTools, imageClasses } from '../instrument/jvm.ts'
import { forEachJdk } from '../support/jdks.ts'
import { hierarchyOf } from './hierarchy.ts'
import { type Mutant, mutate, randomFrom } from './mutate.ts'
import { hotspotVerdicts } from './verdicts.ts'

const FULL = process.env.JFLUID_FULL === '1'
const MUTANTS = Number(process.env.JFLUID_MUTANTS ?? (FULL ? 40_000 : 3_000))
const SEED = Number(process.env.JFLUID_SEED ?? Date.now() % 1_000_000)

/** Their classes are damaged. They have no packages `java.…`, which only the JDK's loaders may define. */
const DAMAGED_MODULES = FULL ? ['jdk.compiler', 'java.xml', 'jdk.javadoc'] : ['jdk.compiler']
const MODULES = FULL
  ? ['ALL']
  : ['jdk.compiler', 'java.base', 'java.compiler', 'jdk.internal.opt', 'jdk.zipfs']
/** Larger classes cost HotSpot more time and show nothing else. */
const LARGEST_BYTES = 20_000

forEachJdk((jdk) => {
  it(`${MUTANTS} damaged methods get the verdict of HotSpot (JFLUID_SEED=${SEED})`, async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), MODULES)
    const parsed = image.map(({ module, bytes }) => ({ module, bytes, classFile: parseClassFile(bytes) }))
    const own = parsed
      .filter(({ module }) => DAMAGED_MODULES.includes(module))
      .map(({ classFile }) => classFile)
    const hierarchy = hierarchyOf(parsed.map(({ classFile }) => classFile))
    const small = own.filter(({ bytes }) => bytes.length < LARGEST_BYTES)

    const random = randomFrom(SEED)
    const mutants: (Mutant & { name: string; ours: string; passes: boolean })[] = []
    while (mutants.length < MUTANTS) {
      const classFile = small[random(small.length)]
      const mutant = mutate(classFile, random)
      if (mutant === undefined) continue
      const passes = passesForOriginal(classFile, mutant)
      mutants.push({ ...mutant, name: classFile.name, ours: verdict(mutant, hierarchy), passes })
    }
    const theirs = await hotspotVerdicts(jdk, own, mutants)
    assert.equal(theirs.length, mutants.length)

    const counts = new Map<string, number>()
    const different: string[] = []
    mutants.forEach(({ what, ours, passes }, i) => {
      const [, word, rest] = /^\[(\w+) ?(.*)\]$/.exec(theirs[i])!
      // Not the verifier's: the parser refused it, or a class that linking needs is missing. A
      // LocalVariableTable is read by debuggers only.
      const aside = /unloaded|unlinked/.test(word) || /local variable table/.test(rest)
      const key = aside ? `aside: ${word}` : word === 'accepted' ? 'accepted' : 'rejected'
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (aside) return
      const accepted = word === 'accepted'
      if ((ours === 'ok') !== accepted) different.push(`${what}: we say ${ours}, they ${theirs[i]}`)
      if (passes) counts.set('would be sent', (counts.get('would be sent') ?? 0) + 1)
      if (passes && !accepted) different.push(`${what}: would be sent, they say ${theirs[i]}`)
    })
    console.info(`JDK ${jdk.version}:`, counts)
    assert.deepEqual(different, [])
    assert.ok(counts.get('accepted')! > 0 && counts.get('rejected')! > MUTANTS / 4)
  }, 600_000)
})

/** With what the original is known to need, and no class known: what a rewritten body goes through. */
function passesForOriginal(original: ClassFile, { bytes, methodIndex }: Mutant): boolean {
  const before = new TypeChecker(original, KNOWS_NOTHING).check(original.methods[methodIndex])
  if (before.ok !== true) return false
  try {
    const classFile = parseClassFile(bytes)
    const after = new TypeChecker(classFile, KNOWS_NOTHING)
    return after.check(classFile.methods[methodIndex], before.assumptions).ok === true
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return false
    throw problem
  }
}

/** `ok`, or the reason why not. */
function verdict({ bytes, methodIndex }: Mutant, hierarchy: Hierarchy): string {
  try {
    const classFile = parseClassFile(bytes)
    const result = new TypeChecker(classFile, hierarchy).check(classFile.methods[methodIndex])
    if (result.ok === undefined) return result.unchecked
    if (!result.ok) return `${result.reason} at ${result.bci}`
    return result.assumptions.size === 0 ? 'ok' : `ok if ${[...result.assumptions]}`
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return problem.message
    throw problem
  }
}
