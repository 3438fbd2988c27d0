// Gives exact times to methods that the roots call, and keeps track of the methods that have exact times.

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
  /** Ids of methods that had no probes before. */
  readonly ids: readonly number[]
  /** Patterns that match no loaded method. */
  readonly missing: readonly RootPattern[]
}

/** Limits of a batch; sizes are in bytes. */
export interface ArmLimits {
  /** Maximum number of classes. A class that two loaders have loaded counts twice. */
  readonly classes: number
  /** Maximum size of one class file. */
  readonly largestClass: number
  /** Maximum size of all class files together. */
  readonly classBytes: number
  /** Minimum bytecode size of a method. It does not apply to methods that the user has named. */
  readonly leastCode: number
  readonly mayBeShort: (method: MethodTarget) => boolean
}

export class Arming {
  readonly #size: () => Promise<JvmSize>
  /** Pauses of all redefinitions since the start of the session. */
  readonly pauses: PauseFact[] = []
  /** `#slowness` after a measured pause. */
  #fitted: number | undefined
  /** Modes of the probes, indexed by method id. */
  #modes = new Uint8Array()

  /**
   * @param size     returns the current size of the JVM
   * @param machine  returns the factor by which pauses on this machine are longer than on the reference machine. Called at the first
   * prediction, since the measurement takes 25 ms
   */
  constructor(
    private readonly workshop: Workshop,
    private readonly installation: Installation,
    private readonly finder: ClassFinder,
    size: () => Promise<JvmSize>,
    private readonly machine: () => number,
  ) {
    this.#size = size
  }

  /**
   * Factor by which pauses of this JVM are longer than on the reference machine. Each measured pause moves it half way to the measured
   * factor.
   */
  get #slowness(): number {
    return this.#fitted ?? this.machine()
  }

  /** Makes later lists of loaded classes include the classes that match the patterns. */
  want(patterns: readonly RootPattern[]): void {
    this.finder.want(patterns)
  }

  /** Makes later lists include all loaded classes. Needed to suggest similar names when no class matches the root. */
  wantAll(): void {
    this.finder.wantAll()
  }

  /** Returns the current size of the JVM. */
  async size(): Promise<JvmSize> {
    return await this.#size()
  }

  /** Predicts how long a redefinition of this number of classes will stop the JVM, in ms. Null if no prediction is possible. */
  async predict(classes: number, size = this.#size()): Promise<number | null> {
    // If the number of compiled methods is not known, the latest pause is the prediction.
    return predictedPauseMs(await size, classes, this.#slowness) ?? this.pauses.at(-1)?.measuredMs ?? null
  }

  /**
   * Returns how many of these classes one redefinition may contain without stopping the JVM for longer than `ms`. 0 if no prediction is
   * possible.
   */
  async classesWithin(ms: number, classes: number): Promise<number> {
    const size = await this.#size()
    if (size.compiledMethods !== null) return classesWithin(ms, size, classes, this.#slowness)
    const longMs = await this.predict(classes)
    return longMs !== null && longMs <= ms ? classes : 0
  }

  /** Runs one redefinition, and compares the measured pause with the prediction. */
  async redefine(predictedMs: number | null, work: () => Promise<void>): Promise<void> {
    const { swaps } = this.installation
    const before = swaps.latest.length
    await work()
    const [swap, ...others] = swaps.latest.slice(before)
    if (swap === undefined) return
    const { pauseMs: measuredMs } = swap
    this.pauses.push({ predictedMs, measuredMs, classes: swap.classes })
    // After a class was refused, its methods are tried in separate redefinitions.
    for (const it of others)
      this.pauses.push({ predictedMs: null, measuredMs: it.pauseMs, classes: it.classes })
    if (predictedMs !== null && measuredMs !== null)
      this.#fitted = refittedSlowness(this.#slowness, predictedMs, measuredMs)
  }

  /** Returns the methods that match the patterns; the caller instruments them. Their classes must have been listed before. */
  async reveal(
    patterns: readonly RootPattern[],
  ): Promise<{ revelation: Revelation; missing: RootPattern[] }> {
    const { revealer, turns } = this.workshop
    return await turns.ask(() => revealer.takeNamed(patterns))
  }

  /** Like `reveal`, but methods beyond the limits get no probes. */
  async revealWithin(
    patterns: readonly RootPattern[],
    limits: ArmLimits,
  ): Promise<{ revelation: Revelation; missing: RootPattern[] }> {
    const { revelation, missing } = await this.reveal(patterns)
    return { revelation: await this.#within(revelation, limits), missing }
  }

  /** Sets the modes of methods. A new mode takes effect at the next root call; switching off takes effect immediately. */
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

  /** Returns whether the calls of a method are timed now. */
  isTimed(id: number): boolean {
    return this.#modes[id] === MODE_TIME
  }

  /**
   * Instruments methods in one redefinition.
   * @param mode    mode of the probes
   * @param limits  limits of the batch; methods that exceed a limit are skipped
   * @param predictedMs  predicted pause of the JVM, ms
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

  /**
   * Returns the revealed methods that match the pattern. The full class name is compared, since another class name may have the same
   * ending.
   */
  #revealed(pattern: RootPattern): MethodTarget[] {
    return [...this.workshop.revealer.methods].filter(
      (it) => rootRank(pattern, it.className) === RANK_FULL && matchesMethod(pattern, it.name, it.descriptor),
    )
  }

  #named(pattern: RootPattern): MethodTarget[] {
    return this.#revealed(pattern).filter((it) => !it.root)
  }

  /** Returns whether the methods of a pattern already have probes. If they have, exact times need no redefinition. */
  hasProbes(pattern: RootPattern): boolean {
    const named = this.#named(pattern)
    return named.length > 0 && named.every(({ id }) => this.#hasProbes(id))
  }

  #hasProbes(id: number): boolean {
    const { instrumenter } = this.workshop
    return instrumenter.has(id) && !instrumenter.leftOutMethods.has(id)
  }

  /** Returns whether the methods have exact times now. Roots always have exact times. */
  areTimed(pattern: RootPattern): boolean {
    const revealed = this.#revealed(pattern)
    return revealed.length > 0 && revealed.every(({ id, root }) => root || this.isTimed(id))
  }

  /**
   * Gives methods exact times from the next root call on. Short methods are included, since the user named them.
   * @param predictedMs  predicted pause of the JVM
   * @returns ids of the timed methods; empty if no method matches, or if the JVM or the rewriter has refused all of them
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
   * Restores the original code of switched-off methods, in one redefinition.
   * @param predictedMs  predicted pause of the JVM
   * @returns the number of restored methods
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

/** Returns the pattern for a method that is named as in a stack trace. */
export function exactly(className: string, method: string): RootPattern {
  return {
    ...{ text: `${className}.${method}`, className: className.replaceAll('$', '.'), method },
    ...{ parameters: null, returns: null },
  }
}

// Chooses the loaded classes that scheme adaptive lists. A server has tens of thousands of classes, and listing all of them takes seconds.

export class ClassFinder {
  readonly #names = new Set<string>([HANDLE_MEMBER_CLASS])
  /** Whether all classes are listed, for example because a pattern has a wildcard in its class name. */
  #wantsAll = false

  /** Makes later calls of `list` include the classes that match the patterns. */
  want(patterns: readonly Pick<RootPattern, 'className'>[]): void {
    for (const { className } of patterns) {
      if (className.includes('*')) this.#wantsAll = true
      else this.#names.add(className)
    }
  }

  /** Makes later calls of `list` include all classes. */
  wantAll(): void {
    this.#wantsAll = true
  }

  /** Returns the matching classes that the agent has not yet reported. */
  async list(agent: Agent): Promise<LoadedClasses> {
    return this.#wantsAll ? await agent.loadedClasses() : await agent.findClasses([...this.#names])
  }
}
