// Methods below the roots that get exact times: which they are, and that they have them.

import { maxOf } from '../../base/arrays.ts'
import type { ClassFile } from '../../classfile/class-file.ts'
import { parseCode } from '../../classfile/code.ts'
import { readableClassFile } from '../../classfile/recent.ts'
import { HANDLE_MEMBER_CLASS } from '../../instrument/handle-members.ts'
import type { PauseFact } from '../../profile/stack-facts.ts'
import type { MethodTarget } from '../../reveal/method-ids.ts'
import { matchesMethod, RANK_FULL, type RootPattern, rootRank } from '../../reveal/patterns.ts'
import type { Revelation } from '../../reveal/revealer.ts'
import type { Agent } from '../../wire/agent.ts'
import { type LoadedClasses, MODE_TIME } from '../../wire/messages.ts'
import type { Installation, Workshop } from '../code/installation.ts'
import { classesWithin, type JvmSize, predictedPauseMs, refittedSlowness } from './pause.ts'

export interface Armed {
  /** Of methods that had no probes before. */
  readonly ids: readonly number[]
  /** What was wanted and is not there. */
  readonly missing: readonly RootPattern[]
}

/** In bytes. */
export interface ArmLimits {
  /** Of each loader its own. */
  readonly classes: number
  /** Of a class file. */
  readonly largestClass: number
  /** Of all class files together. */
  readonly classBytes: number
  /** Of a method's code, but for methods that may be short. */
  readonly leastCode: number
  readonly mayBeShort: (method: MethodTarget) => boolean
}

export class Arming {
  readonly #size: () => Promise<JvmSize>
  /** Of redefinitions so far. */
  readonly pauses: PauseFact[] = []
  /** By method id. */
  #modes = new Uint8Array()

  /**
   * @param size      of the JVM now
   * @param slowness  of the machine
   */
  constructor(
    private readonly workshop: Workshop,
    private readonly installation: Installation,
    private readonly finder: ClassFinder,
    size: () => Promise<JvmSize>,
    /** Of this machine and JVM; each pause that is measured moves it half way. */
    private slowness: number,
  ) {
    this.#size = size
  }

  /** Classes of these are asked for from now on. */
  want(patterns: readonly RootPattern[]): void {
    this.finder.want(patterns)
  }

  /** All classes are asked for from now on: for names that are like that of a root which none of them has. */
  wantAll(): void {
    this.finder.wantAll()
  }

  /** Of the JVM now. */
  async size(): Promise<JvmSize> {
    return await this.#size()
  }

  /** How long a redefinition of so many classes will stop the JVM, in ms; null where that cannot be told. */
  async predict(classes: number, size = this.#size()): Promise<number | null> {
    // Where the JVM does not tell what it has compiled, a redefinition takes as long as the one before.
    return predictedPauseMs(await size, classes, this.slowness) ?? this.pauses.at(-1)?.measuredMs ?? null
  }

  /** How many classes, of so many, a redefinition may have that stops the JVM for no longer than that, in ms; 0 where that cannot be told. */
  async classesWithin(ms: number, classes: number): Promise<number> {
    const size = await this.#size()
    if (size.compiledMethods !== null) return classesWithin(ms, size, classes, this.slowness)
    const longMs = await this.predict(classes)
    return longMs !== null && longMs <= ms ? classes : 0
  }

  /** Does what is one redefinition, of which it was said how long it would stop the JVM. */
  async redefine(predictedMs: number | null, work: () => Promise<void>): Promise<void> {
    const { swaps } = this.installation
    const before = swaps.latest.length
    await work()
    const [swap, ...others] = swaps.latest.slice(before)
    if (swap === undefined) return
    const { pauseMs: measuredMs } = swap
    this.pauses.push({ predictedMs, measuredMs, classes: swap.classes })
    // Of a class that was refused methods are tried one by one.
    for (const it of others)
      this.pauses.push({ predictedMs: null, measuredMs: it.pauseMs, classes: it.classes })
    if (predictedMs !== null && measuredMs !== null)
      this.slowness = refittedSlowness(this.slowness, predictedMs, measuredMs)
  }

  /** What is to go into the target with another redefinition: of classes that have been asked for. */
  async reveal(
    patterns: readonly RootPattern[],
  ): Promise<{ revelation: Revelation; missing: RootPattern[] }> {
    const { revealer, turns } = this.workshop
    return await turns.ask(() => revealer.takeNamed(patterns))
  }

  /** The same within limits: what is beyond them gets no probes. */
  async revealWithin(
    patterns: readonly RootPattern[],
    limits: ArmLimits,
  ): Promise<{ revelation: Revelation; missing: RootPattern[] }> {
    const { revelation, missing } = await this.reveal(patterns)
    return { revelation: await this.#within(revelation, limits), missing }
  }

  /** Methods tell what their modes say, from the next call of a root on; those that are switched off tell nothing from now on. */
  async switchTo(changes: readonly (readonly [ids: readonly number[], mode: number])[]): Promise<void> {
    const highest = maxOf(
      changes.map(([ids]) => maxOf(ids, 0)),
      this.#modes.length - 1,
    )
    const modes = new Uint8Array(highest + 1)
    modes.set(this.#modes)
    for (const [ids, mode] of changes) for (const id of ids) modes[id] = mode
    this.#modes = modes
    await this.workshop.agent.modes(modes)
  }

  /** Whether calls of a method have exact times now. */
  isTimed(id: number): boolean {
    return this.#modes[id] === MODE_TIME
  }

  /**
   * Gives methods probes, in one redefinition.
   *
   * @param mode    what these tell
   * @param limits  what gets none
   * @param predictedMs  for how long it was said that the JVM would stand still
   */
  async arm(
    patterns: readonly RootPattern[],
    mode: number,
    limits: ArmLimits,
    predictedMs: number | null,
  ): Promise<Armed> {
    let armed: Armed = { ids: [], missing: patterns }
    const { turns } = this.workshop
    await turns.request(async () => {
      this.finder.want(patterns)
      await this.installation.refreshClasses()
      const { revelation, missing } = await this.revealWithin(patterns, limits)
      await this.redefine(predictedMs, () => this.installation.apply([revelation]))
      const ids = revelation.instrument.map(({ id }) => id)
      await this.switchTo([[ids, mode]])
      armed = { ids, missing }
    })
    return armed
  }

  /** Methods that have been revealed, of the class of this name: in full, as another may end like it. */
  #revealed(pattern: RootPattern): MethodTarget[] {
    return [...this.workshop.revealer.methods].filter(
      (it) => rootRank(pattern, it.className) === RANK_FULL && matchesMethod(pattern, it.name, it.descriptor),
    )
  }

  #named(pattern: RootPattern): MethodTarget[] {
    return this.#revealed(pattern).filter((it) => !it.root)
  }

  /** Whether exact times of these need no redefinition. */
  hasProbes(pattern: RootPattern): boolean {
    const named = this.#named(pattern)
    return named.length > 0 && named.every(({ id }) => this.#hasProbes(id))
  }

  #hasProbes(id: number): boolean {
    const { instrumenter } = this.workshop
    return instrumenter.has(id) && !instrumenter.leftOutMethods.has(id)
  }

  /** Whether they have exact times now, as roots always do. */
  areTimed(pattern: RootPattern): boolean {
    const revealed = this.#revealed(pattern)
    return revealed.length > 0 && revealed.every(({ id, root }) => root || this.isTimed(id))
  }

  /**
   * Gives methods exact times, from the next call of a root on: however short they are, as they were asked for by name.
   *
   * @param predictedMs  for how long it was said that the JVM would stand still
   * @returns their ids; empty if there is none, or the JVM or the rewriter has refused them
   */
  async time(pattern: RootPattern, predictedMs: number | null): Promise<readonly number[]> {
    let ids: readonly number[] = []
    const { instrumenter, revealer, turns } = this.workshop
    await turns.request(async () => {
      if (!this.hasProbes(pattern)) {
        this.finder.want([pattern])
        await this.installation.refreshClasses()
        const { revelation } = await this.reveal([pattern])
        const named = this.#named(pattern).map(({ id }) => id)
        const instrument = this.#named(pattern).filter(({ id }) => !instrumenter.has(id))
        revealer.methods.takenAfterAll(instrument.map(({ id }) => id))
        await this.redefine(predictedMs, async () => {
          await this.installation.leaveOut(
            new Set([...instrumenter.leftOutMethods].filter((id) => !named.includes(id))),
          )
          await this.installation.apply([{ ...revelation, instrument }])
        })
      }
      ids = this.#named(pattern)
        .map(({ id }) => id)
        .filter((id) => this.#hasProbes(id))
      if (ids.length > 0) await this.switchTo([[ids, MODE_TIME]])
    })
    return ids
  }

  /**
   * Gives methods that are switched off their own code again, in one redefinition.
   *
   * @param predictedMs  for how long it is expected that the JVM stands still
   * @returns how many have it
   */
  async restore(ids: readonly number[], predictedMs: number | null): Promise<number> {
    const { instrumenter, turns } = this.workshop
    await turns.request(async () => {
      const all = new Set([...instrumenter.leftOutMethods, ...ids])
      await this.redefine(predictedMs, async () => void (await this.installation.leaveOut(all)))
    })
    return ids.filter((id) => instrumenter.leftOutMethods.has(id)).length
  }

  async #within(revelation: Revelation, limits: ArmLimits): Promise<Revelation> {
    const { instrumenter, revealer } = this.workshop
    const ids = [...new Set(revelation.instrument.map(({ classId }) => classId))]
    const files = await instrumenter.classBytes(ids)
    const taken = new Map<number, ClassFile>()
    let sum = 0
    for (const [i, id] of ids.entries()) {
      const file = files[i] ?? null
      if (file === null || file.length > limits.largestClass || sum + file.length > limits.classBytes)
        continue
      if (taken.size === limits.classes) break
      const classFile = readableClassFile(file)
      if (classFile === null) continue
      sum += file.length
      taken.set(id, classFile)
    }
    const isTaken = (target: MethodTarget): boolean => {
      const file = taken.get(target.classId)
      const method = file?.methods[target.methodIndex]
      if (file === undefined || method?.code === undefined) return false
      return limits.mayBeShort(target) || parseCode(file, method).bytecode.length >= limits.leastCode
    }
    const instrument = revelation.instrument.filter(isTaken)
    const others = new Set(revelation.instrument.filter((it) => !isTaken(it)).map(({ id }) => id))
    revealer.methods.dropped(others)
    return { ...revelation, instrument, ready: revelation.ready.filter((id) => !others.has(id)) }
  }
}

/** A method as a stack trace names it. */
export function exactly(className: string, method: string): RootPattern {
  return {
    ...{ text: `${className}.${method}`, className: className.replaceAll('$', '.'), method },
    ...{ parameters: null, returns: null },
  }
}

// Which loaded classes scheme adaptive asks for. A server has tens of thousands, and listing them all takes seconds.

export class ClassFinder {
  readonly #names = new Set<string>([HANDLE_MEMBER_CLASS])
  /** A class is named by a wildcard. */
  #wantsAll = false

  /** Classes of these are asked for from now on. */
  want(patterns: readonly Pick<RootPattern, 'className'>[]): void {
    for (const { className } of patterns) {
      if (className.includes('*')) this.#wantsAll = true
      else this.#names.add(className)
    }
  }

  /** All classes are asked for from now on. */
  wantAll(): void {
    this.#wantsAll = true
  }

  /** Those that have not been told. */
  async list(agent: Agent): Promise<LoadedClasses> {
    return this.#wantsAll ? await agent.loadedClasses() : await agent.findClasses([...this.#names])
  }
}
