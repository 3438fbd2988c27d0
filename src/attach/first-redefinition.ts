// What the first redefinition in a JVM's life does to its compiled code. Before JDK 23 HotSpot does not know what depends on a class
// until somebody may redefine classes, and so throws all of it away then (JDK-8324241): requests wait until methods are compiled again,
// some seconds where processors are free for that, and for how long is not known where they are not.

import { debug } from '../base/debug.ts'
import { EX_TEMPFAIL, NeedsConsent } from '../base/errors.ts'
import { thousands } from '../base/thousands.ts'
import { AttachError, featureOf, INVALIDATES_LITTLE } from './admission.ts'
import { attachCommand } from './command.ts'
import { compiledCount } from './compiled-methods.ts'
import type { AttachConnection } from './handshake.ts'
import { findPerfData } from './hsperfdata.ts'
import { isBusy, type Processors, readProcessors, usedText } from './processors.ts'
import type { TargetProcess } from './target-process.ts'

const TIMEOUT_MS = 2_000
/** A JVM with so much to spare while we attached, what we used included, is not looked at for longer: a user waits for that. */
const MUCH_TO_SPARE = 0.75
const LOOK_MS = 250
/** While our own modules are read, it has no processor that we use: then it is looked at again. */
const MOST_OURS = 0.2
const LOOKS = 3
/** Where fewer methods are compiled, as in a small program, they are compiled again at once. A Spring Boot service has 11,768. */
const MUCH_CODE = 4_000

/** Whether the first redefinition of a JVM discards so much that requests wait. Null: not known. */
export function discardsMuch(feature: number | null, compiled: number | null): boolean {
  return feature !== null && feature < INVALIDATES_LITTLE && compiled !== null && compiled >= MUCH_CODE
}

export class BusyBeforeFlush extends NeedsConsent {
  readonly exitCode = EX_TEMPFAIL
  readonly hint =
    'To only look, without it: --mode sample --sampler stacks. Or attach when it has less to do, or start it with $(jfluid agent-path). --yes does it all the same.'
  constructor(
    readonly pid: number,
    processors: Processors,
    compiled: number,
    feature: number,
  ) {
    super(
      `JVM ${pid} has no processors to spare (it uses ${usedText(processors)}), and its first redefinition discards all of its ${thousands(compiled)} compiled methods (JDK ${feature}): requests would wait for seconds`,
    )
  }
}

/**
 * For a JVM in which no agent has been, which may have redefined something: before one is loaded.
 *
 * @param seen  what it has used of its processors since we began
 * @throws BusyBeforeFlush. What cannot be told is no reason to ask
 */
export async function refuseBusyBeforeFlush(
  connection: AttachConnection,
  seen: Processors | undefined,
): Promise<void> {
  const { pid, hasJavaAgent } = connection.target
  debug.attach?.(`processors in use: ${seen === undefined ? 'unknown' : usedText(seen)}`)
  if (hasJavaAgent !== false || seen === undefined || hasMuchToSpare(seen)) return
  const feature = featureToldBy(connection.target) ?? (await featureBehind(connection))
  if (feature === null || feature >= INVALIDATES_LITTLE) return
  const compiled = await compiledCount(connection)
  if (compiled === null || !discardsMuch(feature, compiled)) return
  let processors = await readProcessors(pid, LOOK_MS)
  for (let look = 1; look < LOOKS && (processors?.ours ?? 0) > MOST_OURS; look++)
    processors = await readProcessors(pid, LOOK_MS)
  if (processors !== undefined && isBusy(processors))
    throw new BusyBeforeFlush(pid, processors, compiled, feature)
}

function hasMuchToSpare({ used, most, idle, ours }: Processors): boolean {
  return Math.min(most - used, idle + ours) > MUCH_TO_SPARE * most
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
