// Predicts the result of `--jdwp`. Reads the JVM over the debugger's port, without suspending a thread or loading an agent. If the JVM runs
// on this machine, the facts that `doctor.ts` reads from its process are included.

import { CLASS_HIDDEN, CLASS_JDK, type ClassInfo } from '../../base/class-info.ts'
import { SINCE } from '../../base/jdk-releases.ts'
import { granted, type JdwpTarget } from '../../jdwp-client/index.ts'
import { type ReachOptions, type RootReach, reachAmong } from '../roots/root-reach.ts'
import { securityManager } from './debugger-calls.ts'
import { DebuggerClasses } from './debugger-classes.ts'
import { NoInstrumentThere } from './debugger-launch.ts'
import { type DebuggedJvm, type DebuggerAddress, openDebuggerPort, textOf } from './debugger-port.ts'
import { type Check, examine, type Finding, refused, release } from './doctor.ts'
import { SecurityManagerPresent } from './door.ts'
import { targetOf } from './jdwp-door.ts'

export interface DebuggedExamination {
  readonly address: DebuggerAddress
  /** Process id. Null if the JVM runs on another machine. */
  readonly pid: number | null
  readonly mainClass: string | undefined
  readonly findings: readonly Finding[]
  /** Classes of the program, as `package.Class`, without JDK classes and lambdas. */
  readonly classes: readonly string[]
  readonly loadedClasses: number
  /** The methods that the roots can reach. Undefined if no root was given, or if the code cannot be read. */
  readonly reach: RootReach | undefined
}

/** Checks of `doctor.ts` that concern only attach, or that are made over the port instead. */
const NOT_OVER_PORT: ReadonlySet<Check> = new Set([
  ...(['jdk', 'attach', 'container', 'agent loading', 'java.instrument', 'agent jar'] as const),
  ...(['named pipes', 'classes', 'sampling', 'security manager'] as const),
])

/**
 * Examines the JVM and disconnects. If the JVM waited for a debugger at its start (suspend=y), it starts to run when jfluid disconnects.
 * @param options  options for the roots whose calls are followed; undefined for none
 * @throws the errors of `openDebuggerPort`, RootNotFound and other errors of the revealer
 */
export async function examineDebugged(
  address: DebuggerAddress,
  options: ReachOptions | undefined,
  onPhase: (phase: string) => void = () => {},
): Promise<DebuggedExamination> {
  const debugged = await openDebuggerPort(address)
  const { jvm } = debugged
  try {
    const pid = targetOf(debugged)?.pid ?? null
    const outside = pid === null ? undefined : examine(pid)
    const capabilities = granted(await jvm.virtualMachine.capabilitiesNew(), 'what it can do')
    const readable = capabilities.canGetBytecodes && capabilities.canGetConstantPool
    const classes = new DebuggerClasses(jvm)
    onPhase('reading classes')
    const loaded = await classes.loaded((read, of) => onPhase(`reading classes: ${read} of ${of}`))
    const started = await jvm.events.next('VM_START', { timeoutMs: 0 })
    const findings: Finding[] = [
      release(`${debugged.version.vmVersion}, ${debugged.version.vmName}`, debugged.version.major),
      port(await threadsOf(jvm), started !== null && started.set.suspendPolicy !== 'NONE'),
      container(pid, debugged),
      await instrument(jvm, address),
      agentLoading(),
      ...(await manager(debugged)),
      ...(outside?.findings ?? []).filter(({ check }) => !NOT_OVER_PORT.has(check)),
      bytecodes(loaded.length, readable),
    ]
    if (options !== undefined && readable) onPhase('following calls')
    const classBytes = (ids: readonly number[]) => classes.classBytes(ids)
    return {
      ...{ address, pid, findings, mainClass: outside?.jvm.mainClass },
      loadedClasses: loaded.length,
      classes: loaded
        .filter(isOfProgram)
        .map((it) => it.name.replaceAll('/', '.'))
        .sort(),
      reach:
        options === undefined || !readable
          ? undefined
          : await reachAmong(
              {
                classes: loaded,
                classBytes,
                compiledMethods: null,
                metaspaceLeft: Number.POSITIVE_INFINITY,
                executed: new Set(),
              },
              options,
            ),
    }
  } finally {
    await jvm.dispose()
  }
}

function isOfProgram({ flags, name }: ClassInfo): boolean {
  return (flags & (CLASS_JDK | CLASS_HIDDEN)) === 0 && !name.startsWith('jfluid/')
}

function container(pid: number | null, { local }: DebuggedJvm): Finding {
  if (pid !== null) return { check: 'container', level: 'ok', text: `is process ${pid} of this machine` }
  return {
    check: 'container',
    level: 'note',
    text: `is not a process of this machine that jfluid can read: jfluid sends the agent over the port, and the agent connects back to ${local.address}, not encrypted`,
  }
}

function port(threads: number, waited: boolean): Finding {
  const text = `accepts a debugger, and none is connected; ${threads} threads, one of which must enter a method so that the agent can be loaded`
  if (!waited) return { check: 'debugger', level: 'ok', text }
  return {
    check: 'debugger',
    level: 'note',
    text: `${text}; it waited for a debugger at its start (suspend=y) and runs now`,
  }
}

async function threadsOf(jvm: JdwpTarget): Promise<number> {
  return granted(await jvm.virtualMachine.allThreads(), 'its threads').length
}

/**
 * Checks whether the module java.instrument is resolved. If it was not resolved at the start of the program, it can be loaded later if the
 * runtime image contains it.
 */
async function instrument(jvm: JdwpTarget, address: DebuggerAddress): Promise<Finding> {
  for (const id of granted(await jvm.virtualMachine.allModules(), 'its modules')) {
    const name = await jvm.moduleReference.name(id)
    if (name.ok && name.value === 'java.instrument')
      return { check: 'java.instrument', level: 'ok', text: 'the module is in its runtime' }
  }
  return {
    check: 'java.instrument',
    level: 'note',
    text: 'not loaded; jfluid loads it if the runtime contains it',
    hint: new NoInstrumentThere(address).hint,
  }
}

function agentLoading(): Finding {
  const text = 'over the port of the debugger: options of the JVM for attach and agents do not apply'
  return { check: 'agent loading', level: 'ok', text }
}

async function manager({ jvm, address, version }: DebuggedJvm): Promise<Finding[]> {
  if (version.major >= SINCE.NO_SECURITY_MANAGER) return []
  const name = await securityManager(jvm)
  if (name === null) return [{ check: 'security manager', level: 'ok', text: 'none' }]
  return [refused('security manager', new SecurityManagerPresent(`the JVM at ${textOf(address)}`, name))]
}

function bytecodes(classes: number, readable: boolean): Finding {
  const text = `${classes} are loaded`
  if (readable)
    return { check: 'classes', level: 'ok', text: `${text}, and jfluid can read their code over the port` }
  return { check: 'classes', level: 'note', text: `${text}; this JVM does not show their code to debuggers` }
}
