// Counts the methods that a root would reach, before anything is instrumented: loads the agent, reads and analyzes classes, detaches. For
// `jfluid doctor --root`.
//
// Reading a class redefines nothing (see classBytes in the agent), so compiled code stays compiled. Methods that the rewriter or the JVM
// would refuse are counted as reached: a refusal is known only after rewriting.

import type { ClassInfo } from '../../base/class-info.ts'
import type { SkippedMethod } from '../../profile/profile.ts'
import { NO_PAST } from '../../reveal/lazy.ts'
import type { RevealPort } from '../../reveal/mirror.ts'
import { Revealer, type RevealOptions, type Revelation } from '../../reveal/revealer.ts'
import type { RootReport } from '../../reveal/roots.ts'
import { Agent } from '../../wire/agent.ts'
import { memorySlowness } from '../adaptive/memory-latency.ts'
import { predictedPauseMs } from '../adaptive/pause.ts'
import type { OpenDoor } from '../doors/door.ts'
import { MAX_METHODS } from '../limits.ts'
import { whyLarge, whyNotB } from '../scheme-choice.ts'
import { compiledPast } from '../target-past.ts'
import { answerInTime } from '../target-waits.ts'

export interface SchemeReach {
  /** Number of methods that would get probes. */
  readonly methods: number
  /** Number of classes that contain these methods. */
  readonly classes: number
}

/** The scheme that `--scheme auto` would choose. */
export interface AutoScheme {
  readonly scheme: 'b' | 'adaptive'
  /** Reason against scheme b. */
  readonly why: string | null
  /** Expected pause in ms of the first redefinition, which contains the roots, or all methods with scheme b; null if unknown. */
  readonly pauseMs: number | null
}

export interface RootReach {
  readonly auto: AutoScheme
  readonly roots: readonly RootReport[]
  readonly loadedClasses: number
  /** All reachable methods of the currently loaded classes. Scheme a instruments them at once; for scheme b they are an upper bound. */
  readonly schemeA: SchemeReach
  /** Methods that scheme b instruments at the start. */
  readonly schemeB: SchemeReach
  /** Reachable methods that get no probes with scheme a. */
  readonly skipped: readonly SkippedMethod[]
  /** Methods that the roots call directly, as `package.Class.method`; about 100 at most. */
  readonly callees: readonly string[]
}

const MAX_CALLEES = 100

/** All options of a session except the scheme. */
export type ReachOptions = Omit<RevealOptions, 'scheme'>

/** Source of the classes to read. */
export interface ClassSource extends RevealPort {
  readonly classes: readonly ClassInfo[]
  /** Methods that are known to run, as returned by `OpenDoor.executed`. */
  readonly executed: ReadonlySet<string>
  /** Number of compiled methods of the JVM; null if unknown. */
  readonly compiledMethods: number | null
  /** Free bytes of the JVM's metaspace; Infinity if it is unlimited or the limit is unknown. */
  readonly metaspaceLeft: number
}

/**
 * Counts the reachable methods. Detaches from the target at the end, as a session does.
 *
 * @param door     is always closed
 * @param onPhase  receives the name of each phase
 * @throws RootNotFound and other errors of the revealer
 */
export async function reachOfRoots(
  door: OpenDoor,
  options: ReachOptions,
  onPhase: (phase: string) => void = () => {},
): Promise<RootReach> {
  const agent = new Agent(door.link)
  try {
    await agent.hello()
    onPhase('reading classes')
    const executed = await door.executed()
    const [compiledMethods, metaspaceLeft] = [await door.compiled(), await door.metaspaceLeft()]
    const { classes } = await agent.loadedClasses()
    onPhase('following calls')
    return await reachAmong(
      { classes, compiledMethods, metaspaceLeft, executed, classBytes: (ids) => agent.classBytes(ids) },
      options,
    )
  } finally {
    await answerInTime(agent.detach(), door.pid ?? 0).catch(() => {})
    agent.close()
    door.leave()
  }
}

/** @throws RootNotFound and other errors of the revealer */
export async function reachAmong(source: ClassSource, options: ReachOptions): Promise<RootReach> {
  const { classes, executed } = source
  const files = new Files(source)
  const reveal = async (scheme: 'a' | 'b') => {
    const revealer = new Revealer({ ...options, scheme }, files)
    revealer.addClasses(classes)
    const skipped = new Map<string, string>()
    const note = (revelation: Revelation): void => {
      for (const it of revelation.skipped) {
        skipped.set(`${it.className}.${it.method}${it.descriptor}`.replaceAll('/', '.'), it.reason)
      }
    }
    note(await revealer.start())
    if (scheme === 'b') {
      const past = executed.size > 0 ? compiledPast(executed) : NO_PAST
      for await (const revelation of revealer.rootsWillRun(past)) note(revelation)
    }
    return { revealer, skipped }
  }
  const a = await reveal('a')
  const b = await reveal('b')
  return {
    auto: autoOf(a.revealer, source, files),
    roots: a.revealer.roots.report(),
    loadedClasses: classes.length,
    schemeA: reached(a.revealer),
    schemeB: reached(b.revealer),
    skipped: [...a.skipped].map(([method, reason]) => ({ method, reason })),
    callees: await calleesOf(a.revealer),
  }
}

function autoOf(
  revealer: Revealer,
  { classes, compiledMethods, metaspaceLeft }: ClassSource,
  files: Files,
): AutoScheme {
  const all = new Set<number>()
  const ofRoots = new Set<number>()
  for (const { classId, root } of revealer.methods) {
    all.add(classId)
    if (root) ofRoots.add(classId)
  }
  let classBytes = 0
  for (const id of all) classBytes += files.sizeOf(id)
  const size = { compiledMethods, loadedClasses: classes.length }
  const { methods } = reached(revealer)
  const pauseMs = predictedPauseMs(size, all.size, memorySlowness())
  const isTooMuch = methods > MAX_METHODS
  const why =
    whyLarge(classes.length) ??
    whyNotB({ isTooMuch, methods, classes: all.size, classBytes, pauseMs, metaspaceLeft })
  if (why === null) return { scheme: 'b', why, pauseMs }
  return { scheme: 'adaptive', why, pauseMs: predictedPauseMs(size, ofRoots.size, memorySlowness()) }
}

async function calleesOf(revealer: Revealer): Promise<string[]> {
  const roots = [...revealer.methods].filter((it) => it.root).map((it) => it.id)
  const callees = await revealer.callees(roots, MAX_CALLEES)
  return callees.map(({ className, name }) => `${className}.${name}`.replaceAll('/', '.'))
}

function reached(revealer: Revealer): SchemeReach {
  const methods = [...revealer.methods]
  return { methods: methods.length, classes: new Set(methods.map((it) => it.classId)).size }
}

/** Cache of class files. Two revealers read nearly the same classes, and each class is requested from the target only once. */
class Files {
  readonly #known = new Map<number, Uint8Array | null>()
  readonly #sizes = new Map<number, number>()
  #bytes = 0

  constructor(private readonly source: RevealPort) {}

  async classBytes(ids: readonly number[]): Promise<(Uint8Array | null)[]> {
    const missing = ids.filter((id) => !this.#known.has(id))
    const read = new Map<number, Uint8Array | null>()
    if (missing.length > 0) {
      const files = await this.source.classBytes(missing)
      missing.forEach((id, i) => {
        read.set(id, files[i] ?? null)
        this.#sizes.set(id, files[i]?.length ?? 0)
      })
    }
    const found = ids.map((id) => read.get(id) ?? this.#known.get(id) ?? null)
    for (const [id, file] of read) {
      if (this.#bytes > MAX_CACHED_BYTES) break
      this.#known.set(id, file)
      this.#bytes += file?.length ?? 0
    }
    return found
  }

  /** Size in bytes of a class file that has been read. */
  sizeOf(id: number): number {
    return this.#sizes.get(id) ?? 0
  }
}

/** Maximum size of the cache of class files. */
const MAX_CACHED_BYTES = 64 << 20
