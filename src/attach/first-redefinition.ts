// What the first redefinition in a JVM's life does to its compiled code. Before JDK 23 HotSpot does not know what depends on a class
// until somebody may redefine classes, and so throws all of it away then (JDK-8324241): requests wait until methods are compiled again,
// some seconds where processors are free for that, and for how long is not known where they are not.

import { debug } from '../base/debug.ts'
import { EX_TEMPFAIL, NeedsConsent } from '../base/errors.ts'
import { thousands } from '../base/thousands.ts'
import { AttachError, featureOf, INVALIDATES_LITTLE } from './admission.ts'
import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'
import { findPerfData } from './hsperfdata.ts'
import { compiledCount } from './loaded-code.ts'
import { type Processors, readProcessors, spareOf, usedText } from './processors.ts'
import type { TargetProcess } from './target-process.ts'

const TIMEOUT_MS = 2_000
/** Where fewer methods are compiled, as in a small program, they are compiled again at once. A Spring Boot service has 11,768. */
const MUCH_CODE = 4_000
/**
 * So many times the processor time requests take for some seconds, while their code is interpreted and compiled again. A compromise:
 * after first redefinitions on stock servers that used up to 0.31 of two processors, no request took longer than 0.42 s, but for four
 * runs of Keycloak (0.7 to 1.1 s); where they used 0.32 to 0.44, the longest took 0.4 to 3.9 s. decision 112.
 */
const TIMES_AS_MUCH = 7
const LOOK_MS = 100
const LEAST_LOOKS = 3
const MOST_LOOKS = 10

/** Whether the first redefinition of a JVM discards so much that requests wait. Null: not known. */
export function discardsMuch(feature: number | null, compiled: number | null): boolean {
  return feature !== null && feature < INVALIDATES_LITTLE && compiled !== null && compiled >= MUCH_CODE
}

/** What requests would need without compiled code, and cannot have, in processors; below 0 they have enough. */
export function shortfall(processors: Processors): number {
  return processors.used * (TIMES_AS_MUCH - 1) - spareOf(processors)
}

/**
 * @param shortfalls  in looks one after the other: requests come by chance, so they differ
 * @returns whether processors would be short; null where the mean is no further from 0 than its standard error, and there may be another look
 */
export function isShort(shortfalls: readonly number[]): boolean | null {
  const count = shortfalls.length
  if (count < LEAST_LOOKS) return null
  const mean = sum(shortfalls) / count
  const variance = sum(shortfalls.map((it) => (it - mean) ** 2)) / (count - 1)
  return count >= MOST_LOOKS || Math.abs(mean) > Math.sqrt(variance / count) ? mean > 0 : null
}

export class BusyBeforeFlush extends NeedsConsent {
  static sample = () => new BusyBeforeFlush(4711, { used: 1.4, most: 4, idle: 0.6, ours: 0 }, 12_345, 21)
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'To only look, without it: --mode sample. Or attach when it has less to do, or start it with $(jfluid agent-path). --yes does it all the same.'
  constructor(
    readonly pid: number,
    processors: Processors,
    compiled: number,
    feature: number,
  ) {
    const { used } = processors
    const [uses, needs, has] = [used, used * TIMES_AS_MUCH, used + spareOf(processors)].map((it) =>
      it.toFixed(2),
    )
    super(
      `JVM ${pid} is too busy for its first redefinition, which discards all of its ${thousands(compiled)} compiled methods (JDK ${feature}): it uses ${uses} processors, would need about ${needs} until these are compiled again, and can have ${has}, so requests would wait for seconds`,
    )
  }
}

/**
 * For a JVM in which no agent has been that may have redefined something: before one is loaded, or before ours does it.
 *
 * @throws BusyBeforeFlush. What cannot be told is no reason to ask
 */
export async function refuseBusyBeforeFlush(connection: AttachConnection): Promise<void> {
  const { pid } = connection.target
  const feature = featureToldBy(connection.target) ?? (await featureBehind(connection))
  if (feature === null || feature >= INVALIDATES_LITTLE) return
  const compiled = await compiledCount(connection)
  if (compiled === null || !discardsMuch(feature, compiled)) return
  const processors = await whereShort(() => readProcessors(pid, LOOK_MS))
  if (processors !== null) throw new BusyBeforeFlush(pid, processors, compiled, feature)
}

/**
 * @param looked  takes some time; undefined where the process has gone, or is not ours to see
 * @returns what was in use, on average, if that leaves too little; null if not, or if it cannot be told
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

/** By its counters, where they are surely its own and not those of an earlier JVM with its number. */
function featureToldBy(target: TargetProcess): number | null {
  return target.perfDataMapped === true ? featureOf(findPerfData(target)?.facts?.javaVersion) : null
}

/** By `VM.version`: a line about the VM, then "JDK 17.0.15". @returns null where the JVM does not tell in time */
async function featureBehind(connection: AttachConnection): Promise<number | null> {
  try {
    const options = { timeoutMs: TIMEOUT_MS }
    const { code, text } = await attachCommand(connection, 'jcmd', ['VM.version'], options)
    return code === 0 ? featureOf(/^JDK (\S+)/m.exec(text)?.[1]) : null
  } catch (problem) {
    if (!(problem instanceof AttachError)) throw problem
    debug.attach?.(`its version: ${problem.message}`)
    return null
  }
}
