// Damaged class files: an answer with reasons, or a ClassFormatProblem of the parser. Never another
// exception, never an endless loop. JFLUID_SEED repeats a run; JFLUID_FULL=1 makes it longer.

import assert from 'node:assert/strict'
import { beforeAll, it } from 'vitest'
import { hasAnnotation } from '../../src/classfile/annotations.ts'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass } from '../../src/instrument/class.ts'
import { oldest } from '../support/jdks.ts'
import { compileTools, imageClasses } from './jvm.ts'

const FULL = process.env.JFLUID_FULL === '1'
const MUTANTS = FULL ? 200_000 : 5_000
const SEED = Number(process.env.JFLUID_SEED ?? Date.now() % 1_000_000)

/** Small, and full of what can be damaged: constructors, switches, handlers, lambdas, annotations. */
const CLASSES =
  /^(java\/util\/(Optional|BitSet|ArrayDeque|Objects|StringJoiner|Currency)|java\/lang\/(Integer|Thread|Record|Enum)|java\/net\/URI|java\/io\/File)$/

/** xorshift32: small and repeatable. */
function randomFrom(seed: number): (below: number) => number {
  let state = (seed * 2654435761) | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/** A few bytes changed, most of them in code: flipped, set to an extreme, or copied from elsewhere. */
function mutate(classFile: ClassFile, random: (below: number) => number): Uint8Array {
  const bytes = Uint8Array.from(classFile.bytes)
  const bodies = classFile.methods.flatMap(({ code }) => (code === undefined ? [] : [code]))
  for (let left = 1 + random(4); left > 0; left--) {
    const body = bodies[random(bodies.length)]
    const at = random(4) === 0 ? random(bytes.length) : body.offset + random(body.length)
    const kind = random(4)
    if (kind === 0) bytes[at] ^= 1 << random(8)
    else if (kind === 1) bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random(5)]
    else if (kind === 2) bytes[at] = random(256)
    else bytes.copyWithin(at, random(bytes.length), random(bytes.length)) // the length stays
  }
  return random(50) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes
}

let classes: ClassFile[]
beforeAll(async () => {
  const image = await imageClasses(oldest, await compileTools(oldest), ['java.base'])
  classes = image.map(({ bytes }) => parseClassFile(bytes)).filter(({ name }) => CLASSES.test(name))
  assert.equal(classes.length, 12)
})

it(`${MUTANTS} damaged class files are refused as data (JFLUID_SEED=${SEED})`, () => {
  const random = randomFrom(SEED)
  const outcome = { refused: 0, bodies: 0, skipped: 0 }
  const reasons = new Map<string, number>()
  let slowest = 0
  for (let mutant = 0; mutant < MUTANTS; mutant++) {
    const bytes = mutate(classes[random(classes.length)], random)
    const started = performance.now()
    try {
      instrumentMutant(bytes)
    } catch (problem) {
      if (!(problem instanceof ClassFormatProblem)) {
        throw new Error(`mutant ${mutant} of seed ${SEED}`, { cause: problem })
      }
      outcome.refused++
    }
    slowest = Math.max(slowest, performance.now() - started)
  }
  assert.ok(outcome.refused > 0 && outcome.bodies > 0 && outcome.skipped > 0, JSON.stringify(outcome))
  assert.ok(slowest < 2000, `the slowest took ${slowest} ms`)
  const top = [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 8)
  console.info(`seed ${SEED}: ${MUTANTS} mutants, slowest ${Math.round(slowest)} ms`, outcome, top)

  function instrumentMutant(bytes: Uint8Array): void {
    const classFile = parseClassFile(bytes)
    const tasks = classFile.methods.map(({ index }) => ({
      methodIndex: index,
      id: index,
      probe: 'method' as const,
    }))
    const result = instrumentClass(classFile, tasks)
    assert.equal(result.bodies.length + result.skipped.length, tasks.length)
    outcome.bodies += result.bodies.length
    outcome.skipped += result.skipped.length
    for (const { reason } of result.skipped) {
      const kind = reason.replace(/-?\d+/g, 'N')
      reasons.set(kind, (reasons.get(kind) ?? 0) + 1)
    }
    const spliced = spliceClass(classFile, result.poolEntries, result.poolBytes, result.bodies)
    assert.doesNotThrow(() => parseClassFile(spliced), 'what was rewritten is a class file still')
    classFile.bootstrapMethods.at(0)
    classFile.nestHost?.at(0)
    for (const method of classFile.methods) hasAnnotation(classFile, method, 'LNothing;')
  }
}, 600_000)
