// Effect of a JVM's first redefinition on its compiled code. Before JDK 23 HotSpot does not record which compiled code depends on a class
// until a redefinition is possible. So the first redefinition discards all compiled code (JDK-8324241), and requests slow down until
// methods are compiled again. Recompilation takes some seconds if processors are idle; otherwise its time has no known bound.

import { debug } from '../base/debug.ts'
import { EX_TEMPFAIL, NeedsConsent } from '../base/errors.ts'
import { SINCE } from '../base/jdk-releases.ts'
import { thousands } from '../base/thousands.ts'
import { AttachError, featureOf } from './admission.ts'
import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'
import { findPerfData } from './hsperfdata.ts'
import { compiledCount } from './loaded-code.ts'
import {
  beginMeasurement,
  endMeasurement,
  type Measurement,
  type Processors,
  spareOf,
  usedText,
} from './processors.ts'
import type { TargetProcess } from './target-process.ts'

const VERSION_TIMEOUT_MS = 2_000
/** Below this number of compiled methods, as in a small program, recompilation takes almost no time. A Spring Boot service has 11,768. */
const MIN_COMPILED_METHODS = 4_000
/**
 * Factor by which requests use more processor time for some seconds, while their code is interpreted and recompiled. The value is a
 * compromise. It was measured on stock servers with 2 processors. With up to 0.31 processors in use before the first redefinition, no
 * request took longer than 0.42 s, except in four runs of Keycloak (0.7 to 1.1 s). At a use of 0.32 to 0.44, the longest request took 0.4
 * to 3.9 s. See decision 112.
 */
const RECOMPILATION_COST_FACTOR = 7
const MEASUREMENT_DURATION_MS = 100
const MIN_MEASUREMENTS = 3
/** A garbage collection or compilation uses a processor for up to a second. A shorter measurement cannot distinguish it from requests. */
const MIN_MEASUREMENTS_IF_SHORT = 10
const MAX_MEASUREMENTS = 20

/** Returns whether the first redefinition of a JVM discards enough code to slow requests down. Null arguments mean unknown. */
export function discardsMuch(feature: number | null, compiled: number | null): boolean {
  return (
    feature !== null &&
    feature < SINCE.SELECTIVE_INVALIDATION &&
    compiled !== null &&
    compiled >= MIN_COMPILED_METHODS
  )
}

/** Returns the number of processors that requests would lack without compiled code; negative if there are enough. */
export function shortfall(processors: Processors): number {
  return processors.used * (RECOMPILATION_COST_FACTOR - 1) - spareOf(processors)
}

/**
 * @param shortfalls  consecutive measurements; they vary since requests arrive at random
 * @returns whether requests would lack processors; null if another measurement is needed: there are too few, or the mean is within one
 * standard error of 0
 */
export function isShort(shortfalls: readonly number[]): boolean | null {
  const count = shortfalls.length
  const mean = sum(shortfalls) / count
  if (count < (mean > 0 ? MIN_MEASUREMENTS_IF_SHORT : MIN_MEASUREMENTS)) return null
  const variance = sum(shortfalls.map((it) => (it - mean) ** 2)) / (count - 1)
  return count >= MAX_MEASUREMENTS || Math.abs(mean) >= Math.sqrt(variance / count) ? mean > 0 : null
}

export class BusyBeforeFlush extends NeedsConsent {
  static sample = () => new BusyBeforeFlush(4711, { used: 1.4, most: 4, idle: 0.6, ours: 0 }, 12_345, 21)
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'Use --mode sample, which redefines nothing; or attach when the JVM is less busy; or start the JVM with $(jfluid agent-path). --yes attaches without this check.'
  constructor(
    readonly pid: number,
    processors: Processors,
    compiled: number,
    feature: number,
  ) {
    const { used } = processors
    const [uses, needs, has] = [used, used * RECOMPILATION_COST_FACTOR, used + spareOf(processors)].map(
      (it) => it.toFixed(2),
    )
    super(
      `JVM ${pid} is too busy for its first redefinition, which discards all of its ${thousands(compiled)} compiled methods (JDK ${feature}): the JVM uses ${uses} processors and can use ${has}, but would need about ${needs} to compile them again, so requests would wait for seconds`,
    )
  }
}

/**
 * Refuses a busy JVM before its first redefinition. Called before jfluid's agent is loaded or redefines a class, unless an earlier agent
 * may have redefined a class already.
 *
 * @param first  the first measurement of the processor use, if it has already begun
 * @throws BusyBeforeFlush. An unknown value never causes a refusal
 */
export async function refuseBusyBeforeFlush(
  connection: AttachConnection,
  first?: Measurement,
): Promise<void> {
  const { pid } = connection.target
  const feature = featureToldBy(connection.target) ?? (await featureBehind(connection))
  if (feature === null || feature >= SINCE.SELECTIVE_INVALIDATION) return
  const compiled = await compiledCount(connection)
  if (compiled === null || !discardsMuch(feature, compiled)) return
  const processors = await lacksProcessors(pid, first)
  if (processors !== null) throw new BusyBeforeFlush(pid, processors, compiled, feature)
}

/**
 * Returns the processors in use if requests would lack processors without compiled code; null if not, or if the use is unknown.
 *
 * @param first  the first measurement, if it has already begun
 */
export function lacksProcessors(pid: number, first?: Measurement): Promise<Processors | null> {
  let begun = first
  return whereShort(() => {
    const measurement = begun ?? beginMeasurement(pid)
    begun = undefined
    return endMeasurement(measurement, MEASUREMENT_DURATION_MS)
  })
}

/**
 * @param looked  takes one measurement; returns undefined if the process has ended or is unreadable
 * @returns the mean of the measurements if requests would lack processors; null if not, or if the use is unknown
 */
export async function whereShort(looked: () => Promise<Processors | undefined>): Promise<Processors | null> {
  const looks: Processors[] = []
  for (;;) {
    const look = await looked()
    if (look === undefined) return null
    looks.push(look)
    const short = isShort(looks.map(shortfall))
    if (short === null) continue
    const processors = meanOf(looks)
    debug.attach?.(`processors in use: ${usedText(processors)}, after ${looks.length} looks; short: ${short}`)
    return short ? processors : null
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, it) => all + it, 0)

function meanOf(looks: readonly Processors[]): Processors {
  const mean = (part: (it: Processors) => number): number => sum(looks.map(part)) / looks.length
  return {
    used: mean((it) => it.used),
    most: mean((it) => it.most),
    idle: mean((it) => it.idle),
    ours: mean((it) => it.ours),
  }
}

/**
 * Reads the version from the performance data if the process has mapped that file. An unmapped file may be left over from an earlier JVM
 * with the same pid.
 */
export function featureToldBy(target: TargetProcess): number | null {
  return typeof target.perfDataName === 'string' ? featureOf(findPerfData(target)?.facts?.javaVersion) : null
}

/** Runs `VM.version`, which prints a line about the VM, then "JDK 17.0.15". @returns null if the JVM does not answer in time */
export async function featureBehind(connection: AttachConnection): Promise<number | null> {
  try {
    const options = { timeoutMs: VERSION_TIMEOUT_MS }
    const { code, text } = await attachCommand(connection, 'jcmd', ['VM.version'], options)
    return code === 0 ? featureOf(/^JDK (\S+)/m.exec(text)?.[1]) : null
  } catch (problem) {
    if (!(problem instanceof AttachError)) throw problem
    debug.attach?.(`its version: ${problem.message}`)
    return null
  }
}
