// Predicts the problems of an attach to a JVM, without any effect on the JVM. `findingsOf` decides and is pure; `examine` collects facts.
// No signal is sent, no socket is opened and no command is sent: even a harmless attach command starts a thread in a JVM to which no client
// has attached before. So some results are based only on the options of the JVM and on files.

import {
  attachProblem,
  type Client,
  featureOf,
  JdkTooOld,
  NativeImage,
  NotHotSpot,
  NotJvm,
  type TargetFacts,
  thisClient,
} from '../../attach/admission.ts'
import { type Circumstances, readCircumstances } from '../../attach/circumstances.ts'
import { DynamicLoadingDisabled, InstrumentModuleMissing } from '../../attach/command.ts'
import { discardsMuch, shortfall } from '../../attach/first-redefinition.ts'
import { hasAllOptions } from '../../attach/hsperfdata.ts'
import { booleanFlag } from '../../attach/java-command.ts'
import { describeJvm, type Jvm } from '../../attach/jvms.ts'
import { METASPACE_NEEDED, NoMetaspaceLeft } from '../../attach/memory-room.ts'
import { isBusy, type Processors, usedText } from '../../attach/processors.ts'
import { readTargetFacts } from '../../attach/target-facts.ts'
import { untestedArchitecture } from '../../base/architecture.ts'
import { EX_CANTCREAT, EX_OSFILE, type JfluidError } from '../../base/errors.ts'
import { SINCE, TESTED_JDKS } from '../../base/jdk-releases.ts'
import { thousands } from '../../base/thousands.ts'
import { memorySlowness } from '../adaptive/memory-latency.ts'
import { longestBatchMs } from '../adaptive/pause.ts'
import { MAX_METASPACE_BYTES, MAX_PAUSE_MS, MIN_FREE_METASPACE_BYTES } from '../limits.ts'
import { BUFFER_BYTES } from '../recorder/buffer-size.ts'
import { usualSampler } from '../sampling/jvm-sampling.ts'
import { ROOM_TO_BEGIN } from '../sampling/recording-room.ts'
import { whyLarge } from '../scheme-choice.ts'
import { type AgentInside, agentInside } from './agent-inside.ts'
import { agentJar } from './agent-jar.ts'
import { metaspaceLeftOf, type PauseBounds, pauseBounds } from './attach-cost.ts'
import { AlreadyAttached, OtherBuild, SecurityManagerPresent } from './door.ts'
import { seesJar } from './jar-path.ts'
import { hasMkfifo, NoPipes, needsPipes } from './pipes.ts'
import { meetingPlace } from './session-directory.ts'

export interface Finding {
  /** Name of the check, from a fixed set that programs can use. */
  readonly check: Check
  /** `ok`; `note`: a fact worth knowing before an attach; `problem`: an attach would fail. */
  readonly level: 'ok' | 'note' | 'problem'
  readonly text: string
  /** Advice for the user. */
  readonly hint?: string
  /** For a problem: the exit status of an attach. */
  readonly exitCode?: number
}

export const CHECKS = [
  'jdk',
  'architecture',
  'debugger',
  'attach',
  'container',
  'agent loading',
  'java.instrument',
  'agent jar',
  'named pipes',
  'security manager',
  'session',
  'buffer',
  'redefinition',
  'other agents',
  'classes',
  'metaspace',
  'processors',
  'threads',
  'clock',
  'sampling',
] as const
export type Check = (typeof CHECKS)[number]

export interface Examination {
  readonly jvm: Jvm
  readonly findings: readonly Finding[]
}

/** File system locations that an attach needs. */
export interface Places {
  /** Path of the agent jar. Null if the jar has not been built. */
  readonly jar: string | null
  /** Whether the JVM can read the jar. If it cannot, jfluid makes a copy for the JVM. */
  readonly jarSeen: boolean
  /** Whether the command that makes named pipes is on the PATH. */
  readonly hasMkfifo: boolean
  /** The jfluid agent that sleeps in the JVM, as far as this can be detected. */
  readonly agentInside?: AgentInside | undefined
  readonly buffer: ReturnType<typeof meetingPlace>
}

const MIB = 1 << 20

/**
 * Examines a JVM.
 * @returns undefined if no process has this id
 */
export function examine(
  pid: number,
  client: Client = thisClient(),
  processors?: Processors,
): Examination | undefined {
  const facts = readTargetFacts(pid)
  if (facts === undefined) return undefined
  const jvm = describeJvm(facts, client)
  const problem = attachProblem(facts, client)
  // The other checks are about HotSpot JVMs.
  const isOther = problem instanceof NotHotSpot || problem instanceof NativeImage
  if (isOther || problem instanceof NotJvm || facts.process.threadGroup !== pid) {
    return {
      jvm: isOther ? jvm : { ...jvm, mainClass: facts.process.name },
      findings: problem === undefined ? [] : [refused('attach', problem)],
    }
  }
  const circumstances = readCircumstances(facts.process)
  const places = placesOf(facts)
  return {
    jvm,
    findings: findingsOf({
      facts,
      jvm,
      client,
      circumstances,
      places,
      processors,
      memorySlowness: memorySlowness(),
    }),
  }
}

export interface Evidence {
  readonly facts: TargetFacts
  readonly jvm: Jvm
  readonly client: Client
  readonly circumstances: Circumstances
  readonly places: Places
  /** Processor usage of the JVM. Undefined if it was not measured, or cannot be read. */
  readonly processors?: Processors | undefined
  /** Factor by which pauses are longer on this machine because of its memory latency; 1 for a typical machine. */
  readonly memorySlowness: number
}

/** Returns all findings, in the order in which an attach would encounter the problems. */
export function findingsOf(evidence: Evidence): Finding[] {
  const { facts, client, jvm } = evidence
  const problem = attachProblem(facts, client)
  // The other checks do not apply if the JDK is too old.
  if (problem instanceof JdkTooOld) return [refused('jdk', problem)]
  const feature = featureOf(jvm.version)
  return [
    jdk(evidence, feature),
    architecture(evidence),
    attaching(evidence),
    container(evidence),
    loading(evidence, feature),
    instrument(evidence),
    ...jar(evidence),
    ...namedPipes(evidence, feature),
    ...securityManager(evidence, feature),
    ...session(evidence),
    buffer(evidence),
    ...redefinition(evidence, feature),
    otherAgents(evidence),
    classes(evidence),
    ...metaspace(evidence),
    ...processors(evidence, feature),
    threads(evidence, feature),
    clock(evidence),
    sampling(evidence, feature),
  ]
}

/** Returns the exit status that an attach would have; 0 if no known problem prevents the attach. */
export function statusOf(findings: readonly Finding[]): number {
  return findings.find((it) => it.level === 'problem')?.exitCode ?? 0
}

function ok(check: Check, text: string): Finding {
  return { check, level: 'ok', text }
}

function note(check: Check, text: string, hint?: string): Finding {
  return { check, level: 'note', text, ...(hint !== undefined && { hint }) }
}

export function refused(check: Check, { message, hint, exitCode }: JfluidError): Finding {
  return { check, level: 'problem', text: message, hint, exitCode }
}

function jdk({ jvm }: Evidence, feature: number | null): Finding {
  const text = `${jvm.version ?? 'version unknown'}, ${jvm.vm ?? 'VM unknown'}`
  if (feature === null) return note('jdk', text, 'jfluid can read it after an attach.')
  return release(text, feature)
}

/** @param text  version and name of the JVM */
export function release(text: string, feature: number): Finding {
  if (TESTED_JDKS.some((it) => it === feature)) return ok('jdk', text)
  return note(
    'jdk',
    `${text}: jfluid is not tested with this release, only with JDK ${listed(TESTED_JDKS)}`,
    'After the detach, jfluid checks that the JVM has its original code, and prints the result.',
  )
}

const listed = (all: readonly number[]): string => `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`

function architecture({ circumstances: { architecture } }: Evidence): Finding {
  const untested = untestedArchitecture(architecture)
  return untested === null ? ok('architecture', 'x86-64') : note('architecture', untested)
}

function attaching({ facts, jvm, client }: Evidence): Finding {
  const problem = attachProblem(facts, client)
  if (problem !== undefined) return refused('attach', problem)
  const who = `the JVM runs as ${jvm.user}, jfluid as uid ${client.uid}`
  if (facts.perf !== undefined && !facts.perf.complete) {
    return note('attach', `${who}; the JVM is still starting`, 'Wait until it has started.')
  }
  return ok(
    'attach',
    facts.hasSocket
      ? `${who}; its attach socket exists`
      : `${who}; jfluid will send SIGQUIT, and the JVM starts its Attach Listener thread (it handles this signal)`,
  )
}

function container({ facts: { process }, jvm, circumstances: { otherNamespaces } }: Evidence): Finding {
  if (otherNamespaces === undefined) return note('container', 'no permission to read its namespaces')
  if (otherNamespaces.length === 0) return ok('container', 'same namespaces as jfluid')
  const inside = process.nsPid === process.pid ? '' : `, as process ${process.nsPid} there`
  return note(
    'container',
    `runs in ${jvm.container ?? 'other namespaces'} (${otherNamespaces.join(', ')})${inside}: jfluid uses /proc/${process.pid}/root`,
  )
}

function loading(
  { facts, circumstances: { options, openFile }, places }: Evidence,
  feature: number | null,
): Finding {
  const { agentInside: inside = openFile('jfluid-agent.jar') === 'open' ? 'ours' : undefined } = places
  if (inside === 'ours') return ok('agent loading', 'not needed: the agent is loaded already')
  const flag = booleanFlag(options, 'EnableDynamicAgentLoading')
  if (flag === false && inside !== undefined)
    return refused('agent loading', new OtherBuild(facts.process.pid))
  if (flag === false) return refused('agent loading', new DynamicLoadingDisabled(facts.process.pid))
  if (flag === true || feature === null || feature < SINCE.AGENT_WARNING)
    return ok('agent loading', 'allowed')
  return note(
    'agent loading',
    `allowed; JDK ${feature} prints a warning of some lines to the error output of the program, once (JEP 451)`,
    'The JVM option -XX:+EnableDynamicAgentLoading suppresses the warning.',
  )
}

function instrument({ facts, circumstances: { modules } }: Evidence): Finding {
  if (modules === undefined) {
    return note(
      'java.instrument',
      'unknown until jfluid attaches: the release file of its runtime, which lists the modules, cannot be read',
    )
  }
  if (modules.has('java.instrument')) return ok('java.instrument', 'the module is in its runtime')
  return refused('java.instrument', new InstrumentModuleMissing(facts.process.pid))
}

function jar({ places: { jar: path, jarSeen } }: Evidence): Finding[] {
  if (path === null) {
    const hint = 'Build the agent, which needs a JDK 17 or newer: npm run build'
    const text = 'the agent jar has not been built'
    return [{ check: 'agent jar', level: 'problem', text, hint, exitCode: EX_OSFILE }]
  }
  if (jarSeen) return [ok('agent jar', `the JVM can read ${path}`)]
  return [
    ok(
      'agent jar',
      `the JVM cannot read ${path}: jfluid puts a copy beside the event buffer while the JVM loads it`,
    ),
  ]
}

/** Reports whether jfluid can make the pipes by which the agent of an older JVM connects. */
function namedPipes({ places: { hasMkfifo } }: Evidence, feature: number | null): Finding[] {
  if (!needsPipes(feature)) return []
  if (hasMkfifo) return [ok('named pipes', 'jfluid makes them with the command mkfifo')]
  const missing = new NoPipes('the command mkfifo is not on the PATH', true)
  return [
    feature === null ? note('named pipes', missing.message, missing.hint) : refused('named pipes', missing),
  ]
}

/** Reports a security manager that the JVM's options name. A manager that the program sets at run time cannot be detected from outside. */
function securityManager({ facts, circumstances }: Evidence, feature: number | null): Finding[] {
  if (feature !== null && feature >= SINCE.NO_SECURITY_MANAGER) return []
  const option = circumstances.options.findLast((it) => /^-Djava\.security\.manager(?:=|$)/.test(it))
  const manager = option?.split('=', 2)[1] ?? ''
  if (option === undefined || manager === 'allow' || manager === 'disallow') {
    return [ok('security manager', 'none in its options')]
  }
  const name = manager === '' || manager === 'default' ? 'java.lang.SecurityManager' : manager
  return [refused('security manager', new SecurityManagerPresent(facts.process.pid, name))]
}

/** Reports a running session or a sleeping agent. The agent's thread exists only during a session, but its jar stays open. */
function session({ facts, circumstances, places }: Evidence): Finding[] {
  if (circumstances.threads.has('jfluid-agent')) {
    return [refused('session', new AlreadyAttached(facts.process.pid))]
  }
  const agent = circumstances.openFile('jfluid-agent.jar')
  if (agent === undefined) return [ok('session', 'jfluid has not been attached before')]
  const { options } = circumstances
  const how = options.some(isOwnAgent)
    ? 'the JVM was started with the agent of jfluid'
    : 'jfluid was attached before'
  const { agentInside: inside } = places
  if (inside === 'foreign') return [refused('session', new OtherBuild(facts.process.pid))]
  if (inside === 'beside') {
    return [
      ok(
        'session',
        `${how}, by another build: its idle agent stays, and the agent of this build is loaded in addition`,
      ),
    ]
  }
  if (agent === 'deleted' && inside === undefined) {
    return [
      ok(
        'session',
        'jfluid was attached before, and its agent is idle; the file of the agent has been deleted or replaced since (in a container this is normal): if it is another build, the agent of this build is loaded in addition',
      ),
    ]
  }
  return [ok('session', `${how}: its idle agent is used`)]
}

/** Recognises the option that `jfluid agent-path` prints. */
function isOwnAgent(option: string): boolean {
  return /^-javaagent:(?:[^=]*\/)?jfluid-agent\.jar(?:=|$)/.test(option)
}

function buffer({ places: { buffer: place } }: Evidence): Finding {
  const problem = (text: string, hint: string): Finding => ({
    ...{ check: 'buffer', level: 'problem', text, hint },
    exitCode: EX_CANTCREAT,
  })
  const need = `${Math.ceil(BUFFER_BYTES / MIB)} MiB`
  if (place === undefined) {
    return problem(
      `the event buffer needs ${need} in /dev/shm or /tmp of the JVM, and jfluid can access neither`,
      'Mount a tmpfs on its /tmp (docker run --tmpfs /tmp), or run jfluid as the user of the JVM or as root.',
    )
  }
  const free = Number.isFinite(place.free)
    ? `${thousands(Math.floor(place.free / MIB))} MiB are free`
    : 'the free space is unknown'
  const where = place.isShared ? place.path : `${place.path} of the JVM (not shared with jfluid)`
  if (!place.isWritable) {
    return problem(
      `the event buffer belongs in ${where}, and jfluid has no permission to write there`,
      'Make it writable for the user of jfluid.',
    )
  }
  if (place.free >= BUFFER_BYTES) return ok('buffer', `needs ${need} in ${where}; ${free}`)
  return problem(
    `the event buffer needs ${need} in ${where}; ${free}`,
    'Free some space on that file system.',
  )
}

function redefinition({ circumstances }: Evidence, feature: number | null): Finding[] {
  if (feature === null) return []
  // If an agent that can redefine classes was present at the start, the compilers have recorded which code depends on which class.
  if (feature >= SINCE.SELECTIVE_INVALIDATION || circumstances.options.some(isOwnAgent)) {
    return [
      ok(
        'redefinition',
        'the first redefinition discards only compiled code that depends on the redefined class',
      ),
    ]
  }
  const text = `the first redefinition discards all compiled code: the program then runs slowly for some seconds on JDK ${feature} (JDK-8324241)`
  return [
    note(
      'redefinition',
      hasJavaAgent(circumstances) ? `${text}. Another agent may have redefined a class already` : text,
      'To profile without a redefinition: --mode sample without --root.',
    ),
  ]
}

/** Library that the JVM loads together with any Java agent. */
const AGENT_LIBRARY = 'libinstrument.so'

/** Returns whether a Java agent is loaded, since the start or later. It may have redefined classes. */
function hasJavaAgent({ libraries }: Circumstances): boolean {
  return libraries?.has(AGENT_LIBRARY) === true
}

function otherAgents({ circumstances }: Evidence): Finding {
  const { options, libraries } = circumstances
  const agents = options.filter((it) => /^-(?:javaagent|agentlib|agentpath):/.test(it))
  const named = agents.filter((it) => !isOwnAgent(it))
  // A Java agent that was loaded later is visible only by its library.
  const loaded = hasJavaAgent(circumstances) && !agents.some((it) => it.startsWith('-javaagent'))
  const debugged = libraries?.has('libjdwp.so') === true && !named.some((it) => it.includes('jdwp'))
  const texts = [
    ...named.map((it) => it.replace(/=.*$/s, '')),
    ...(loaded ? ['a Java agent that was loaded at run time (perhaps that of jfluid)'] : []),
    ...(debugged ? ['a debugger agent'] : []),
  ]
  if (texts.length > 0) {
    return note('other agents', `${texts.join(', ')}: its changes to classes stay, and are profiled`)
  }
  return libraries === undefined
    ? note('other agents', 'none in its options; no permission to read its loaded libraries')
    : ok('other agents', 'none')
}

function classes({ facts: { perf, hasPerfFile }, memorySlowness: slowness }: Evidence): Finding {
  const bounds = perf === undefined ? undefined : pauseBounds(perf, slowness)
  if (bounds === undefined || perf?.loadedClasses === undefined) {
    return note(
      'classes',
      hasPerfFile
        ? 'unknown: no permission to read its counters (hsperfdata)'
        : 'unknown: the JVM has no counters (hsperfdata), so pauses for redefinitions cannot be removed from times',
    )
  }
  const loadedClasses = perf.loadedClasses - (perf.unloadedClasses ?? 0)
  const scheme = whyLarge(loadedClasses) !== null ? ', so --scheme auto selects adaptive' : ''
  const text = `${thousands(loadedClasses)} loaded${scheme}; a redefinition stops the JVM for ${pauseText(bounds)}`
  return (bounds.max ?? bounds.min) <= MAX_PAUSE_MS
    ? ok('classes', text)
    : note(
        'classes',
        text,
        `With --scheme adaptive: one redefinition for the root, one at the end, and further ones for methods below the root only if the expected pause is at most 20 % longer, and at most ${longestBatchMs(MAX_PAUSE_MS)} ms.`,
      )
}

function pauseText({ min, max }: PauseBounds): string {
  return max === null ? `at least ${min} ms` : `${min} to ${max} ms, depending on the amount of compiled code`
}

function metaspace({ facts: { perf, process } }: Evidence): Finding[] {
  const committed = perf?.metaspaceCommitted
  if (perf === undefined || committed === undefined) return []
  const left = metaspaceLeftOf(perf)
  if (left === undefined) {
    const known = hasAllOptions(perf) ? 'no limit' : 'the limit is unknown until jfluid attaches'
    return [ok('metaspace', `${mib(committed)} in use; ${known}`)]
  }
  if (left < METASPACE_NEEDED) return [refused('metaspace', new NoMetaspaceLeft(process.pid, left))]
  const text = `${mib(committed)} of at most ${mib(committed + left)} in use`
  if (left >= MIN_FREE_METASPACE_BYTES + MAX_METASPACE_BYTES) return [ok('metaspace', text)]
  return [
    note(
      'metaspace',
      `${text}: enough to instrument the root, but not more`,
      'Start the JVM with a larger -XX:MaxMetaspaceSize.',
    ),
  ]
}

function processors(evidence: Evidence, feature: number | null): Finding[] {
  const { circumstances, facts, processors } = evidence
  if (processors === undefined) return []
  const text = `the JVM uses ${usedText(processors)}`
  const flushes =
    discardsMuch(feature, facts.perf?.compilations ?? Number.POSITIVE_INFINITY) &&
    circumstances.libraries?.has(AGENT_LIBRARY) === false // `attach` also knows whether a sleeping jfluid agent has redefined a class
  if (flushes && shortfall(processors) > 0)
    return [
      note(
        'processors',
        `${text}: requests are delayed while the JVM recompiles discarded code`,
        'Without --yes, attach and record may only sample stacks. Attach when the load is lower, or start the JVM with $(jfluid agent-path).',
      ),
    ]
  return isBusy(processors)
    ? [note('processors', `${text}: samples are taken late`)]
    : [ok('processors', text)]
}

const mib = (bytes: number): string => `${thousands(Math.round(bytes / MIB))} MiB`

function threads(
  { circumstances: { threads: names, threadCount } }: Evidence,
  feature: number | null,
): Finding {
  const text = `${thousands(threadCount)} platform threads`
  if (feature !== null && feature < SINCE.VIRTUAL_THREADS) return ok('threads', text)
  const virtual = [...names].some((it) => it.startsWith('VirtualThread-u'))
  if (!virtual) return ok('threads', `${text}, no virtual threads in use`)
  return note('threads', `${text}, and virtual threads: these share one tree, and their probes are slower`)
}

function clock({ circumstances: { architecture, modules, clockSource } }: Evidence): Finding {
  // The agent asks the JVM for its architecture (TimeStampCounter), which is the architecture of this machine.
  if (architecture !== 'x64')
    return ok('clock', `System.nanoTime, because the architecture ${architecture} is not x86-64`)
  const ticks = modules?.has('jdk.jfr')
  const own =
    ticks === false
      ? 'System.nanoTime, because its runtime lacks the module jdk.jfr'
      : 'time stamp counter of the processor'
  if (clockSource === undefined || clockSource === 'tsc') return ok('clock', own)
  return note(
    'clock',
    `${own}; the clock source of the system is ${clockSource}, which may make probes expensive`,
  )
}

function sampling(
  { circumstances: { modules, options }, places }: Evidence,
  feature: number | null,
): Finding {
  if (feature !== null && usualSampler(feature) === 'stacks') return ok('sampling', 'by thread dumps')
  if (modules?.has('jdk.jfr') === false || booleanFlag(options, 'FlightRecorder') === false) {
    return ok('sampling', 'by thread dumps, because the JVM has no flight recorder')
  }
  const { buffer: place } = places
  return place !== undefined && place.free < ROOM_TO_BEGIN && place.path === '/tmp'
    ? note(
        'sampling',
        'by its flight recorder; /tmp may have too little free space for it',
        'Free some space in that directory.',
      )
    : ok('sampling', 'by its flight recorder')
}

function placesOf({ process }: TargetFacts): Places {
  let path: string | null = null
  try {
    path = agentJar().path
  } catch {
    // The agent jar has not been built. A finding reports this.
  }
  return {
    jar: path,
    jarSeen: path !== null && seesJar(process, path),
    hasMkfifo: hasMkfifo(),
    agentInside: path === null ? undefined : agentInside(process.pid, path),
    buffer: meetingPlace(process, BUFFER_BYTES),
  }
}
