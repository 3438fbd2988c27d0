// Damaged class files are given to all code that reads class files: parser, mirrors, call sites, rewriter, type checker, and the session's
// answer to a class load. The result must be data with reasons, or the parser's ClassFormatProblem, but never another exception or an
// endless loop. If HotSpot's verifier accepts a damaged class, it must also accept the class with probes. JFLUID_FULL=1 runs longer with a
// new seed each time. JFLUID_SEED repeats the run with that seed.

import assert from 'node:assert/strict'
import { beforeAll, expect, it } from 'vitest'
import { hasAnnotation } from '../../src/classfile/annotations.ts'
import { type ClassFile, ClassFormatProblem, parseClassFile } from '../../src/classfile/class-file.ts'
import { spliceClass } from '../../src/classfile/splice.ts'
import { instrumentClass, type MethodTask } from '../../src/instrument/class.ts'
import { Hierarchy } from '../../src/reveal/hierarchy.ts'
import { Mirrors } from '../../src/reveal/mirror.ts'
import { Instrumenter } from '../../src/session/code/instrumenter.ts'
import { KNOWS_NOTHING, TypeChecker } from '../../src/typecheck/check.ts'
import { refusedBodies } from '../../src/typecheck/rewritten.ts'
import type { Agent } from '../../src/wire/agent.ts'
import { jdks, oldest } from '../support/jdks.ts'
import { FULL } from '../support/lane.ts'
import { randomFrom } from '../typecheck/mutate.ts'
import { hotspotVerdicts, type NamedClass } from '../typecheck/verdicts.ts'
import { classesToDamage, mutant } from './mutants.ts'

const MUTANTS = Number(process.env.JFLUID_MUTANTS ?? (FULL ? 120_000 : 1_000))
const SEED = Number(process.env.JFLUID_SEED ?? (FULL ? Date.now() % 1_000_000 : 2_003))
/** Number of mutants per JVM. The number is limited, since a JVM keeps the metadata of each class. */
const BATCH = 10_000
/** Upper bound for one mutant on a busy machine, to detect endless loops. */
const LONGEST_MS = 10_000

let classes: ClassFile[]
beforeAll(async () => {
  classes = await classesToDamage(oldest)
}, 120_000)

/** A mutant without and with probes. */
interface Changed {
  readonly what: string
  readonly before: NamedClass
  readonly after: NamedClass
}

it(`${MUTANTS} damaged class files are refused as invalid, or accepted if HotSpot accepts them (JFLUID_SEED=${SEED})`, async () => {
  const random = randomFrom(SEED)
  const names = new Set(classes.map(({ name }) => name))
  const outcome = { refused: 0, bodies: 0, skipped: 0, unchecked: 0, untyped: 0 }
  const reasons = new Map<string, number>()
  const verdicts = new Map<string, number>()
  const different: string[] = []
  let changed: Changed[] = []
  let slowest = 0
  for (let number = 0; number < MUTANTS; number++) {
    const { what, bytes } = mutant(classes[random(classes.length)], random)
    const started = performance.now()
    try {
      const after = through(bytes, number)
      if (after !== undefined && names.has(after.name)) {
        changed.push({ what: `${number}, ${what}`, before: { name: after.name, bytes }, after })
      }
    } catch (problem) {
      if (!(problem instanceof ClassFormatProblem)) {
        throw new Error(`mutant ${number} of seed ${SEED}, ${what}`, { cause: problem })
      }
      outcome.refused++
    }
    slowest = Math.max(slowest, performance.now() - started)
    if (changed.length === BATCH) await compare()
  }
  await compare()
  const top = [...reasons].sort((a, b) => b[1] - a[1]).slice(0, 8)
  console.info(`seed ${SEED}: ${MUTANTS} mutants, slowest ${Math.round(slowest)} ms`, outcome, top, verdicts)
  expect(different).toEqual([])
  assert.ok(
    Object.values(outcome).every((count) => count > 0),
    JSON.stringify(outcome),
  )
  for (const { version } of jdks) assert.ok(verdicts.get(`JDK ${version}: accepted`)! > MUTANTS / 20)
  assert.ok(slowest < LONGEST_MS, `the slowest took ${slowest} ms`)

  /** Returns the class with probes, or undefined if no probes were inserted. */
  function through(bytes: Uint8Array, number: number): NamedClass | undefined {
    const mirrors = new Mirrors({ classBytes: async () => [] }, new Hierarchy())
    const mirror = mirrors.put(1, bytes, true)
    for (const { index } of mirror?.methods ?? []) mirrors.body(1, index)
    mirrors.lambdas(1)

    const classFile = parseClassFile(bytes)
    const { methods } = classFile
    const tasks = methods.map((method): MethodTask => {
      return {
        methodIndex: method.index,
        id: (method.index * 20_011) % (1 << 22),
        probe: number % 2 ? 'method' : 'root',
      }
    })
    const reflective =
      number % 8 === 0 ? tasks.map((task): MethodTask => ({ ...task, probe: 'reflection' })) : []
    const result = instrumentClass(classFile, [...tasks, ...reflective])
    assert.equal(result.bodies.length + result.skipped.length, tasks.length)
    outcome.bodies += result.bodies.length
    outcome.skipped += result.skipped.length
    for (const { reason } of result.skipped) {
      const kind = reason.replace(/-?\d+/g, 'N')
      reasons.set(kind, (reasons.get(kind) ?? 0) + 1)
    }
    const written = spliceClass(classFile, result.poolEntries, result.poolBytes, result.bodies)
    assert.doesNotThrow(() => parseClassFile(written), 'what was rewritten is a class file still')

    const checker = new TypeChecker(classFile, KNOWS_NOTHING)
    for (const method of methods) {
      const { ok } = checker.check(method)
      if (ok === undefined) outcome.unchecked++
      else if (!ok) outcome.untyped++
    }
    refusedBodies(classFile, result)
    const session = new Instrumenter({} as Agent) // no request is sent to the agent at load
    const sessionTasks = methods.map(({ name, descriptor, index }) => {
      return { id: index, classId: 1, className: classFile.name, name, descriptor, probe: 'method' as const }
    })
    const { answer, refusals } = session.atLoad(1, bytes, sessionTasks, [])
    assert.equal(answer.bodies.length + refusals.length, sessionTasks.length)

    malformedOr(() => classFile.bootstrapMethods)
    for (const method of methods) malformedOr(() => hasAnnotation(classFile, method, 'LNothing;'))
    return result.bodies.length === 0 ? undefined : { name: classFile.name, bytes: written }
  }

  async function compare(): Promise<void> {
    const batch = changed
    changed = []
    const asked = batch.flatMap(({ before, after }) => [before, after])
    for (const jdk of jdks) {
      const answers = await hotspotVerdicts(jdk, classes, asked)
      assert.equal(answers.length, asked.length)
      batch.forEach(({ what }, i) => {
        const [before, after] = answers.slice(2 * i, 2 * i + 2)
        const key = `JDK ${jdk.version}: ${/^\[(\w+)/.exec(before)![1]}`
        verdicts.set(key, (verdicts.get(key) ?? 0) + 1)
        if (before === '[accepted]' && after !== before) {
          different.push(`JDK ${jdk.version}, mutant ${what}: with probes ${after}`)
        }
      })
    }
  }
}, 1_800_000)

/** Permits a parser error: data that are parsed lazily may turn out to be malformed when they are first read. */
function malformedOr(read: () => unknown): void {
  try {
    read()
  } catch (problem) {
    if (!(problem instanceof ClassFormatProblem)) throw problem
  }
}
