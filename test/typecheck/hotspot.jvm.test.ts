// The type checker and HotSpot's verifier return the same verdict for mutated code. JFLUID_FULL=1 runs more
// mutations, with a new seed each time; JFLUID_SEED repeats a run.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { ACC_INTERFACE } from '../../src/classfile/access.ts'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { CONSTANT_METHOD_HANDLE } from '../../src/classfile/constant-pool.ts'
import { type Hierarchy, KNOWS_NOTHING, TypeChecker } from '../../src/typecheck/check.ts'
import { compileTools, imageClasses } from '../instrument/jvm.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { withoutFrames } from './frameless.ts'
import { hierarchyOf } from './hierarchy.ts'
import { type Mutant, mutate, randomFrom } from './mutate.ts'
import { hotspotVerdicts } from './verdicts.ts'

const MUTANTS = Number(process.env.JFLUID_MUTANTS ?? (FULL ? 40_000 : 500))
const FRAMELESS = MUTANTS / 2
const MAJOR_5 = 49
const UNCHECKED = 'not judged'
/**
 * The verifier for classes without frames accepts `this` before `super()` as an instance of its class, also as the value
 * of a putfield and not only as its object (check_code.c, `pop_stack`, case 'A'). JVMS 4.10.2.4 does
 * not, and neither does our type checker.
 */
const LAXER_WITHOUT_FRAMES = /we say uninitializedThis on the stack where \S+ is wanted at \d+, /
const SEED = Number(process.env.JFLUID_SEED ?? (FULL ? Date.now() % 1_000_000 : 76_284))

/** Programs whose classes are mutated. They contain no packages `java.…`, which only the JDK's loaders may define. */
const DAMAGED_MODULES = FULL ? ['jdk.compiler', 'java.xml', 'jdk.javadoc'] : ['jdk.compiler']
const MODULES = FULL
  ? ['ALL']
  : ['jdk.compiler', 'java.base', 'java.compiler', 'jdk.internal.opt', 'jdk.zipfs']
/** Maximum class size. Larger classes take HotSpot more time and find no other errors. */
const LARGEST_BYTES = 20_000

forNewestJdk((jdk) => {
  let own: ClassFile[]
  let hierarchy: Hierarchy
  beforeAll(async () => {
    const image = await imageClasses(jdk, await compileTools(jdk), MODULES)
    const parsed = image.map(({ module, bytes }) => ({ module, classFile: parseClassFile(bytes) }))
    own = parsed.filter(({ module }) => DAMAGED_MODULES.includes(module)).map(({ classFile }) => classFile)
    hierarchy = hierarchyOf(parsed.map(({ classFile }) => classFile))
  }, 120_000)

  it(`jfluid and HotSpot return the same verdict for ${MUTANTS} damaged methods (JFLUID_SEED=${SEED})`, async () => {
    const small = own.filter(({ bytes }) => bytes.length < LARGEST_BYTES)
    const { counts, tooStrict, tooLax } = await compare(jdk, own, small, hierarchy, MUTANTS)
    console.info(`JDK ${jdk.version}:`, counts)
    assert.deepEqual([...tooLax, ...tooStrict], [])
    assert.ok(counts.get('accepted')! > 0 && counts.get('rejected')! > MUTANTS / 4)
  }, 600_000)

  it(`jfluid and HotSpot return the same verdict for ${FRAMELESS} damaged methods without frames (JFLUID_SEED=${SEED})`, async () => {
    const old = own.filter(canBeOld).map((it) => withoutFrames(it, MAJOR_5))
    const verdicts = await hotspotVerdicts(jdk, own, old)
    const accepted = old.filter((_, i) => verdicts[i] === '[accepted]')
    assert.ok(accepted.length > old.length / 2)
    const { counts, tooStrict, tooLax } = await compare(jdk, own, accepted, hierarchy, FRAMELESS)
    console.info(`JDK ${jdk.version}, ${accepted.length} classes without frames:`, counts)
    assert.deepEqual(tooLax, [])
    const known = tooStrict.filter((it) => LAXER_WITHOUT_FRAMES.test(it))
    assert.deepEqual(
      tooStrict.filter((it) => !known.includes(it)),
      [],
    )
    assert.ok(known.length < FRAMELESS / 500)
    assert.ok(counts.get('accepted')! > 0 && counts.get('rejected')! > FRAMELESS / 4)
  }, 600_000)
})

/** Returns whether a class uses no feature newer than version 49, so that HotSpot's older verifier can check it. */
function canBeOld({ bytes, access, pool }: ClassFile): boolean {
  const newer = [...pool.offsets.keys()].some((index) => pool.tag(index) >= CONSTANT_METHOD_HANDLE)
  return bytes.length < LARGEST_BYTES && (access & ACC_INTERFACE) === 0 && !newer
}

interface Comparison {
  readonly counts: ReadonlyMap<string, number>
  /** jfluid accepts a class that HotSpot rejects. */
  readonly tooLax: readonly string[]
  /** jfluid rejects a class that HotSpot accepts. */
  readonly tooStrict: readonly string[]
}

/** Mutates methods of `classes`, and compares both verdicts. */
async function compare(
  jdk: Jdk,
  surroundings: readonly ClassFile[],
  classes: readonly ClassFile[],
  hierarchy: Hierarchy,
  count: number,
): Promise<Comparison> {
  const random = randomFrom(SEED)
  const mutants: (Mutant & { name: string; ours: string; passes: boolean })[] = []
  while (mutants.length < count) {
    const classFile = classes[random(classes.length)]
    const mutant = mutate(classFile, random)
    if (mutant === undefined) continue
    const passes = passesForOriginal(classFile, mutant)
    mutants.push({ ...mutant, name: classFile.name, ours: verdict(mutant, hierarchy), passes })
  }
  const theirs = await hotspotVerdicts(jdk, surroundings, mutants)
  assert.equal(theirs.length, mutants.length)

  const counts = new Map<string, number>()
  const tooLax: string[] = []
  const tooStrict: string[] = []
  mutants.forEach(({ what, ours, passes }, i) => {
    const [, word, rest] = /^\[(\w+) ?(.*)\]$/.exec(theirs[i])!
    // Not a verdict of the verifier: the parser refused the class, or a class needed for linking is missing. A
    // LocalVariableTable is read only by debuggers.
    const notTheirs = /unloaded|unlinked/.test(word) || /local variable table/.test(rest)
    const aside = notTheirs || ours.startsWith(UNCHECKED)
    const key = aside
      ? `aside: ${notTheirs ? word : UNCHECKED}`
      : word === 'accepted'
        ? 'accepted'
        : 'rejected'
    counts.set(key, (counts.get(key) ?? 0) + 1)
    if (aside) return
    const accepted = word === 'accepted'
    if ((ours === 'ok') !== accepted) {
      const list = accepted ? tooStrict : tooLax
      list.push(`${what}: we say ${ours}, they ${theirs[i]}`)
    }
    if (passes) counts.set('would be sent', (counts.get('would be sent') ?? 0) + 1)
    if (passes && !accepted) tooLax.push(`${what}: would be sent, they say ${theirs[i]}`)
  })
  return { counts, tooLax, tooStrict }
}

/** Checks a mutant like a rewritten body: with the known needs of the original and without the class hierarchy. */
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

/** Returns `ok`, or the reason of the refusal. */
function verdict({ bytes, methodIndex }: Mutant, hierarchy: Hierarchy): string {
  try {
    const classFile = parseClassFile(bytes)
    const result = new TypeChecker(classFile, hierarchy).check(classFile.methods[methodIndex])
    if (result.ok === undefined) return `${UNCHECKED}: ${result.unchecked}`
    if (!result.ok) return `${result.reason} at ${result.bci}`
    return result.assumptions.size === 0 ? 'ok' : `ok if ${[...result.assumptions]}`
  } catch (problem) {
    if (problem instanceof ClassFormatProblem) return problem.message
    throw problem
  }
}
