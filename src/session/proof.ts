// Proof of detach: verifies that nothing of jfluid is left in the target.
//
// - The code of every method that had probes is read from the JVM's memory and compared with the original bytecode
//   (vmstructs/original-code.ts). The agent reads the memory, so this is done before the agent detaches. It needs no redefinition and no
//   pause. Other methods are not compared, since their code never changed, and a class of 1,000 methods would take 0.1 s.
// - Then the agent detaches, and /proc shows whether threads, mappings, descriptors or files of jfluid are left (remains.ts). The client's
//   own socket shows whether the agent's end is closed.

import { existsSync } from 'node:fs'
import { setTimeout as sleep, setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { messageOf } from '../base/errors.ts'
import { ClassFormatProblem, type MethodInfo } from '../classfile/class-file.ts'
import { type Code, parseCode } from '../classfile/code.ts'
import { recentClassFile } from '../classfile/recent.ts'
import { type CodeFacts, type DetachFacts, MAX_DIFFERENT } from '../profile/detach-facts.ts'
import { classesText } from '../profile/text.ts'
import { Memory, type MemoryPort } from '../vmstructs/memory.ts'
import { MethodPlaces } from '../vmstructs/method-places.ts'
import { type HeldCode, HeldCodes, isOriginal, nameKey } from '../vmstructs/original-code.ts'
import { readStructs } from '../vmstructs/structs.ts'
import type { DetachReport } from '../wire/messages.ts'
import type { ClassBefore } from './code/instrumenter.ts'
import type { Engine } from './engine.ts'
import { GONE_TIMEOUT_MS, leftOf, ourThreads, type Remains, remainsOf, threadsGone } from './remains.ts'
import { sourceName } from './target-classes.ts'

/**
 * Time limit of the code comparison, from the time when the first classes have been located. The report lists the code that was not compared
 * in this time as unchecked.
 */
const CODE_TIMEOUT_MS = 500
/**
 * Number of methods that seem to differ and are read again in any case. A restoration that has failed is then reported, even if all processors
 * are busy.
 */
const MIN_SECOND_READINGS = 20
/** Number of readings at one address in which a method must differ. */
const CONFIRMATIONS = 3
const CLASSES_PER_STEP = 200
/** Timeout for an answer of the agent. The answer may be late if all processors are busy. */
const ANSWER_TIMEOUT_MS = 3_000
/** Time limit of the comparison while the agent answers. It has 25 requests; with a load of 75 on two processors they took 4 s. */
const COMPARISON_TIMEOUT_MS = 20_000

const NOTHING_CHECKED: CodeFacts = {
  ...{ checkedClasses: 0, checkedMethods: 0, originalClasses: 0 },
  ...{ different: [], unchecked: '' },
}

/** The memory of a JVM, and the number of answers so far. */
export class CountedMemory implements MemoryPort {
  answers = 0

  constructor(private readonly port: MemoryPort) {}

  vmLibrary(): Promise<number> {
    return this.#counted(this.port.vmLibrary())
  }

  mirrorWords(offset: number, classIds: readonly number[]): Promise<Uint8Array> {
    return this.#counted(this.port.mirrorWords(offset, classIds))
  }

  peek(length: number, addresses: Uint8Array): Promise<Uint8Array> {
    return this.#counted(this.port.peek(length, addresses))
  }

  async #counted<T>(answer: Promise<T>): Promise<T> {
    const value = await answer
    this.answers++
    return value
  }
}

/** Access to the addresses and the code of a JVM's methods. The addresses do not change. */
export interface CodeAccess {
  readonly methods: MethodPlaces
  readonly codes: HeldCodes
}

/** Locates the code of methods, which takes most of the time of a comparison. @returns null if the JVM does not expose the code */
export async function openCode(port: MemoryPort): Promise<CodeAccess | null> {
  const library = await port.vmLibrary()
  const memory = new Memory(port)
  const structs = library === 0 ? null : await readStructs(memory, library)
  const methods = structs && (await MethodPlaces.open(memory, port, structs))
  const codes = structs && HeldCodes.open(memory, structs)
  return methods && codes && { methods, codes }
}

/**
 * Compares the code in the JVM with the original code. The target must be alive.
 *
 * @param ownOf  returns the methods of a class that had probes, with their code in the class file
 */
export async function compareCode(
  opened: Promise<CodeAccess | null>,
  classes: readonly ClassBefore[],
  ownOf: (it: KnownClass) => readonly OwnMethod[] = probedMethods,
): Promise<CodeFacts> {
  if (classes.length === 0) return NOTHING_CHECKED
  let until = Number.POSITIVE_INFINITY
  const access = await opened
  if (access === null) return { ...NOTHING_CHECKED, unchecked: 'this JVM does not let jfluid read its code' }
  const { methods, codes } = access
  const all = known(classes)
  const facts = { ...NOTHING_CHECKED, different: [] as string[] }
  if (all.length < classes.length) facts.unchecked = 'the original code of some classes was not kept'
  for (let at = 0; at < all.length; at += CLASSES_PER_STEP) {
    if (at > 0 && performance.now() > until)
      return {
        ...facts,
        unchecked: `the timeout allowed a check of at most ${at} of ${classes.length} classes`,
      }
    const some = all.slice(at, at + CLASSES_PER_STEP)
    const places = new Map(
      (await methods.places(some.map((it) => it.id))).map((it) => [it.classId, it.methods]),
    )
    if (at === 0) until = performance.now() + CODE_TIMEOUT_MS
    const there = some.flatMap((it) => {
      const addresses = places.get(it.id) ?? []
      if (addresses.length === 0) return [] // the class is unloaded
      const own = ownOf(it)
      return own.length === 0 ? [] : [{ ...it, addresses, own }]
    })
    const inJvm = await codes.named(
      there.map(({ addresses, own }) => ({
        methods: addresses,
        names: new Set(own.map(({ method }) => nameKey(method.nameIndex, method.descriptorIndex))),
      })),
    )
    const suspects: Suspect[] = []
    const add = (own: readonly OwnMethod[], isOwn: boolean): void => {
      facts.checkedClasses++
      facts.checkedMethods += own.length
      if (isOwn) facts.originalClasses++
    }
    for (const [i, { id, name, own }] of there.entries()) {
      if (isSameByIndex(own, inJvm[i]!)) add(own, true)
      else suspects.push({ id, name, own })
    }
    for (const { name, own, different, unchecked } of await differences(access, suspects, until)) {
      if (unchecked !== '') facts.unchecked = unchecked
      if (unchecked === '' || different.length > 0) add(own, different.length === 0)
      for (const it of different)
        if (facts.different.length < MAX_DIFFERENT) facts.different.push(`${sourceName(name)}.${it}`)
    }
  }
  return facts
}

/** A class with code that seems to differ from the original code. */
interface Suspect {
  readonly id: number
  /** Internal name of the class. */
  readonly name: string
  readonly own: readonly OwnMethod[]
}

export interface OwnMethod {
  readonly method: MethodInfo
  readonly code: Code
}

/** A class with known original bytes. */
type KnownClass = ClassBefore & { readonly bytes: Uint8Array }

/**
 * Tests the comparison while probes are installed: it must detect the probes. This test also warms up jfluid's code, so that the comparison
 * at the end, when the user waits, is faster.
 *
 * @returns false if no probe was detected: a comparison then proves nothing on this JVM. Null if the check was not possible
 */
export async function seesProbes(
  opened: Promise<CodeAccess | null>,
  classes: readonly ClassBefore[],
  ownOf = probedMethods,
): Promise<boolean | null> {
  // An error is reported by the comparison at the end.
  const facts = await compareCode(opened, classes.slice(0, CLASSES_PER_STEP), ownOf).catch(() => null)
  if (facts === null || facts.checkedClasses === 0) return null
  if (facts.originalClasses < facts.checkedClasses) return true
  return facts.unchecked === '' ? false : null
}

function known(classes: readonly ClassBefore[]): KnownClass[] {
  return classes.flatMap(({ bytes, ...it }) => (bytes === null ? [] : [{ ...it, bytes }]))
}

/** @throws ClassFormatProblem */
function probedMethods({ bytes, probed }: KnownClass): OwnMethod[] {
  const file = recentClassFile(bytes)
  return file.methods.flatMap((method) =>
    probed.has(method.name + method.descriptor) ? [{ method, code: parseCode(file, method) }] : [],
  )
}

/**
 * Returns whether all code is unchanged. Methods are identified by the constant pool indices of their names, since reading the names would
 * need three times as many reads. The pool has the same order as in the class file unless another agent has redefined the class.
 */
export function isSameByIndex(own: readonly OwnMethod[], held: ReadonlyMap<number, HeldCode>): boolean {
  return own.every(({ method, code }) =>
    isSame(held.get(nameKey(method.nameIndex, method.descriptorIndex)) ?? null, code),
  )
}

/** A method that seems to differ. */
interface Differing {
  /** Index in the list of suspects. */
  readonly suspect: number
  readonly selector: string
  readonly code: Code
  /** Address at the last reading; 0 if unknown. */
  readonly address: number
  /** Number of consecutive readings at this address in which the method differed. */
  readonly readings: number
}

/**
 * Reads each differing method again to confirm the difference. A method differs if several readings at one address differ: while another
 * agent redefines the class, its methods move, and a reading may find the freed memory of an earlier version.
 *
 * @param until  time after which no further method is read again, beyond CONFIRMATIONS readings of MIN_SECOND_READINGS methods
 * @returns per class the names of the methods that differ, and why the class is unchecked; '' if it is not
 */
async function differences(
  access: CodeAccess,
  suspects: readonly Suspect[],
  until: number,
): Promise<(Suspect & { readonly different: readonly string[]; readonly unchecked: string })[]> {
  const different: string[][] = suspects.map(() => [])
  const unchecked = suspects.map(() => '')
  let left: readonly Differing[] = suspects.flatMap(({ own }, suspect) =>
    own.map(({ method, code }) => ({
      ...{ suspect, selector: method.name + method.descriptor, code },
      ...{ address: 0, readings: 0 },
    })),
  )
  let readings = 0
  for (let round = 1; left.length > 0; round++) {
    if (round > CONFIRMATIONS && performance.now() > until) {
      for (const { suspect } of left)
        unchecked[suspect] = 'another agent redefined some classes during the check'
      break
    }
    const moved: Differing[] = []
    for (const it of await readAgain(access, suspects, left)) {
      const { address, code, selector, suspect } = it
      if (it.readings < CONFIRMATIONS) moved.push(it)
      // The method is read alone, since a read of several methods is truncated where mapped memory ends.
      else if (readings++ >= MIN_SECOND_READINGS && performance.now() > until)
        unchecked[suspect] = 'the timeout allowed no second reading of some methods'
      else if (!isSame(await access.codes.alone(address), code)) different[suspect]!.push(selector)
    }
    left = moved
  }
  return suspects.map((it, i) => ({ ...it, different: different[i]!, unchecked: unchecked[i]! }))
}

/** Reads the methods once more, and returns those that differ. */
async function readAgain(
  { codes, methods }: CodeAccess,
  suspects: readonly Suspect[],
  left: readonly Differing[],
): Promise<Differing[]> {
  const places = await methods.addresses([...new Set(left.map(({ suspect }) => suspects[suspect]!.id))])
  const found = left.map((it) => places.get(suspects[it.suspect]!.id)?.get(it.selector) ?? 0)
  const held = await codes.of(found)
  return left.flatMap((it, i) => {
    const address = found[i]!
    if (isSame(held[i] ?? null, it.code)) return []
    const before = address === it.address ? it.readings : 0
    return [{ ...it, address, readings: address === 0 ? 0 : before + 1 }]
  })
}

function isSame(held: HeldCode | null, code: Code): boolean {
  return held !== null && isOriginal(held, code)
}

/** Proof of one detach, from its beginning to its end. */
export class Proof {
  readonly #begun = performance.now()
  /**
   * Remains found before and after the code was restored, while the agent of this session was in the JVM. All these remains belong to this
   * session, since no other client can have an agent at the same time.
   */
  readonly #before: (Remains | null)[] = []
  #code: CodeFacts = NOTHING_CHECKED
  /** Methods that had probes, keyed by class id. */
  readonly #own = new Map<number, readonly OwnMethod[]>()

  constructor(private readonly engine: Engine) {}

  /** Parses the original code before it is restored in the target. Parsing while it is restored would delay the target (decision 111). */
  willRestore(): void {
    this.#before.push(remainsOf(this.engine.process))
    try {
      for (const it of known(this.engine.instrumenter.classesBefore()).slice(0, CLASSES_PER_STEP))
        this.#own.set(it.id, probedMethods(it))
    } catch {
      // The error occurs again in the comparison, where it is reported.
    }
  }

  /** Compares the code after the target has restored it and before the agent detaches. */
  async restored(): Promise<void> {
    const { instrumenter } = this.engine
    try {
      const late = { ...NOTHING_CHECKED, unchecked: 'the JVM did not answer in time' }
      const comparing = whileAnswered(
        this.engine.memory,
        compareCode(
          this.engine.openCode(),
          instrumenter.classesBefore(),
          (it) => this.#own.get(it.id) ?? probedMethods(it),
        ),
        late,
      )
      await turnOfTheLoop() // the request to the agent is sent first
      this.#sampleThreads()
      this.#code = await comparing
      if (this.engine.seesProbes === false && this.#code.different.length === 0)
        this.#code = {
          ...NOTHING_CHECKED,
          unchecked: 'the check could not detect the probes during the session',
        }
    } catch (error) {
      // The detach continues. The report states why the code is unchecked.
      const said = messageOf(error)
      const problem = error instanceof ClassFormatProblem ? `unreadable: ${said}` : said
      this.#code = { ...NOTHING_CHECKED, unchecked: problem }
    }
  }

  /** Reads the list of threads again, since the agent may have started threads to restore the code. */
  #sampleThreads(): void {
    const { process } = this.engine
    const [first] = this.#before
    if (process === null || !first) return
    this.#before.push({ ...first, threads: [...(ourThreads(process)?.keys() ?? [])] })
  }

  /** Called after the agent was asked to detach. @returns null if the target has ended */
  async left(report: DetachReport): Promise<DetachFacts | null> {
    const { agent, door, pausesKnown, process } = this.engine
    const isClosed = await within(
      GONE_TIMEOUT_MS,
      agent.closed.then(() => true),
      false,
    )
    const ours = this.#before.flatMap((it) => it?.threads ?? [])
    if (process !== null) await threadsGone(process, ours)
    const after = remainsOf(process)
    if (after === null) return null
    const left = leftOf(this.#before, door.dir, after)
    if (!isClosed) left.push('socket')
    if (!report.transformerGone) left.push('transformer')
    if (report.unlinkableClasses > 0) left.push(unlinkableText(report))
    // If the JVM exposes its counters, the agent had one counter file open.
    const [before] = this.#before
    if (before && after.counterFiles > Math.max(0, before.counterFiles - (pausesKnown ? 1 : 0)))
      left.push("descriptor of the JVM's counters")
    if (door.dir !== '' && existsSync(door.dir)) left.push(`directory ${door.dir}`)
    return {
      ms: report.ms,
      proofMs: performance.now() - this.#begun,
      restoredClasses: report.restoredClasses,
      refusedClasses: report.refusedClasses,
      pauseMs: report.pauseMs,
      code: this.#code,
      left,
      unseen: after.unseen,
      lambdaClasses: report.lambdaClasses,
    }
  }
}

/** Returns the result of the work, or `late` after a timeout. The work may then continue. */
async function within<T>(ms: number, work: Promise<T>, late: T): Promise<T> {
  const over = new AbortController()
  const timeout = sleep(ms, late, { signal: over.signal }).catch(() => late)
  try {
    return await Promise.race([work, timeout])
  } finally {
    over.abort()
  }
}

/** Returns the result of the work, or `late` if the target no longer answers or the work takes too long. The work may then continue. */
export async function whileAnswered<T>(
  memory: { readonly answers: number },
  work: Promise<T>,
  late: T,
  [answerMs, limitMs] = [ANSWER_TIMEOUT_MS, COMPARISON_TIMEOUT_MS],
): Promise<T> {
  const over = new AbortController()
  const silence = async () => {
    const until = performance.now() + limitMs
    for (let before = -1; before !== memory.answers && performance.now() < until; ) {
      before = memory.answers
      await sleep(answerMs, null, { signal: over.signal })
    }
    return late
  }
  try {
    return await Promise.race([work, silence().catch(() => late)])
  } finally {
    over.abort()
  }
}

/** Describes classes with probes that the JVM can neither run nor redefine. */
function unlinkableText({ unlinkableClasses, unlinkableNames }: DetachReport): string {
  const more = unlinkableClasses > unlinkableNames.length ? ', …' : ''
  return `inactive probes in ${classesText(unlinkableClasses)} that the JVM cannot link and so cannot run: ${unlinkableNames.join(', ')}${more}`
}
