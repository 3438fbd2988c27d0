// The type checker and HotSpot's verifier give the same verdict on damaged code. JFLUID_SEED repeats a
// run; JFLUID_FULL=1 makes it longer.

import assert from 'node:assert/strict'
import { it } from 'vitest'
import { ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { type Hierarchy, TypeChecker } from '../../src/typecheck/check.ts'
import { compileTools, imageClasses } from '../instrument/jvm.ts'
import { forEachJdk } from '../support/jdks.ts'
import { hierarchyOf } from './hierarchy.ts'
import { type Mutant, mutate, randomFrom } from './mutate.ts'
import { hotspotVerdicts } from './verdicts.ts'

const FULL = process.env.JFLUID_FULL === '1'
const MUTANTS = Number(process.env.JFLUID_MUTANTS ?? (FULL ? 40_000 : 3_000))
const SEED = Number(process.env.JFLUID_SEED ?? Date.now() % 1_000_000)

/** Its classes are damaged: none is in a package `java.…`, which only the JDK's loaders may define. */
const DAMAGED_MODULE = 'jdk.compiler'
const MODULES = [DAMAGED_MODULE, 'java.base', 'java.compiler', 'jdk.internal.opt', 'jdk.zipfs']
/** A class of the module whose super class is loaded anew for each mutant costs HotSpot that much more. */
const LARGEST_BYTES = 20_000

forEachJdk((jdk) => {
  it(`${MUTANTS} damaged methods get the verdict of HotSpot (JFLUID_SEED=${SEED})`, async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), MODULES)
    const parsed = image.map(({ module, bytes }) => ({ module, bytes, classFile: parseClassFile(bytes) }))
    const own = parsed.filter(({ module }) => module === DAMAGED_MODULE).map(({ classFile }) => classFile)
    const hierarchy = hierarchyOf(parsed.map(({ classFile }) => classFile))
    const small = own.filter(({ bytes }) => bytes.length < LARGEST_BYTES)

    const random = randomFrom(SEED)
    const mutants: (Mutant & { name: string; ours: string })[] = []
    while (mutants.length < MUTANTS) {
      const classFile = small[random(small.length)]
      const mutant = mutate(classFile, random)
      if (mutant === undefined) continue
      mutants.push({ ...mutant, name: classFile.name, ours: verdict(mutant, hierarchy) })
    }
    const theirs = await hotspotVerdicts(jdk, own, mutants)
    assert.equal(theirs.length, mutants.length)

    const counts = new Map<string, number>()
    const different: string[] = []
    mutants.forEach(({ what, ours }, i) => {
      const [, word, rest] = /^\[(\w+) ?(.*)\]$/.exec(theirs[i])!
      // Not the verifier's: the parser refused it, or a class that linking needs is missing. A
      // LocalVariableTable is read by debuggers only.
      const aside = /unloaded|unlinked/.test(word) || /local variable table/.test(rest)
      const key = aside ? `aside: ${word}` : word === 'accepted' ? 'accepted' : 'rejected'
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (aside) return
      if ((ours === 'ok') !== (word === 'accepted'))
        different.push(`${what}: we say ${ours}, they ${theirs[i]}`)
    })
    console.info(`JDK ${jdk.version}:`, counts)
    assert.deepEqual(different, [])
    assert.ok(counts.get('accepted')! > 0 && counts.get('rejected')! > MUTANTS / 4)
  }, 600_000)
})

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
