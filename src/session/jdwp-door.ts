// The way in over the debugger's port, for JVMs that take no attach: a thread that stands at an event loads the agent, which
// connects back as it does after an attach. Then the debugger leaves: the session needs it no more, and the port is free for the next.
//
// `sun.instrument.InstrumentationImpl.loadAgent` is what the `java` launcher calls for a `Launcher-Agent-Class` (java.base,
// LauncherHelper), of a jar that is on the class path. It brings no options, so Boot keeps what the JVM gives it until `launched`, which does. An agent that sleeps
// in the JVM is told directly what it would otherwise read from a launch file.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTargetProcess, type TargetProcess } from '../attach/target-process.ts'
import { actingAs, userToBe } from '../attach/target-user.ts'
import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { type ClassId, granted, type JdwpTarget, type ObjectId, type Value } from '../jdwp-client/index.ts'
import { LinkServer, newToken } from '../wire/link.ts'
import { type AgentJar, agentJar } from './agent-jar.ts'
import { BUFFER_BYTES } from './buffer-size.ts'
import { DebuggerCalls, ThrownInTarget } from './debugger-calls.ts'
import {
  type DebuggedJvm,
  type DebuggerAddress,
  openDebuggerPort,
  processServing,
  textOf,
} from './debugger-port.ts'
import { standingThread } from './debugger-stand.ts'
import { CONNECT_MS, launchLine, type OpenDoor, perfCounter, startProblem, withToken } from './door.ts'
import {
  AGENT,
  makeSessionDirectory,
  type Owner,
  ownerFor,
  type SessionDirectory,
  SOCKET,
} from './session-directory.ts'

/** The agent and the recorder meet in files. */
export class NothingShared extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run jfluid on the machine of the JVM, where both see the same /tmp or /dev/shm.'
  constructor(address: DebuggerAddress, problem: string) {
    super(`nothing is shared with the JVM at ${textOf(address)}: ${problem}`)
  }
}

/** Its runtime image lacks what defines agents. */
export class NoInstrumentThere extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run the program on a runtime with the module java.instrument (jlink --add-modules …).'
  constructor(address: DebuggerAddress) {
    super(`cannot load the agent into the JVM at ${textOf(address)}: it has no module java.instrument`)
  }
}

/** An earlier jfluid has put its own there, for the life of the JVM. */
export class AnotherAgentThere extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Use that jfluid, or restart the JVM.'
  constructor(address: DebuggerAddress) {
    super(
      `the JVM at ${textOf(address)} holds the agent of an older jfluid, which cannot be loaded over a debugger's port`,
    )
  }
}

const INSTRUMENTATION = 'sun.instrument.InstrumentationImpl'
const LOAD_AGENT = 'loadAgent(Ljava/lang/String;)V'
const LAUNCHED = 'launched(Ljava/lang/String;)Ljava/lang/String;'
const APPEND = 'appendToClassPathForInstrumentation(Ljava/lang/String;)V'
const BOOT = 'Ljfluid/Boot;'
const SETUP = 'Ljava/lang/JFluid1$Setup;'

/**
 * Has the JVM that takes a debugger at `address` load the agent, or wake it.
 *
 * @param patienceMs  how long a thread of the JVM is waited for
 * @param onPhase     told what is waited for
 * @throws those of `openDebuggerPort`, JvmIdle, NothingShared, NoInstrumentThere, AnotherAgentThere, ThrownInTarget, AlreadyAttached,
 *   AgentDidNotConnect: the JVM runs as before, and its port is free
 */
export async function jdwpDoor(
  address: DebuggerAddress,
  patienceMs?: number,
  onPhase: (phase: string) => void = () => {},
): Promise<OpenDoor> {
  const jar = agentJar()
  const debugged = await openDebuggerPort(address)
  let entry: Entry
  try {
    onPhase(`waiting for a thread of the JVM at ${textOf(address)} to come by`)
    const thread = await standingThread(
      debugged.jvm,
      address,
      () => onPhase('the JVM was waiting for a debugger at its start: it runs now'),
      patienceMs,
    )
    onPhase('loading the agent')
    entry = await Entry.into(debugged, new DebuggerCalls(debugged.jvm, thread), jar)
    // Leaving does so, too, but a moment after the JVM has said that we may go.
    granted(await debugged.jvm.threadReference.resume(thread), 'to let the thread run')
  } finally {
    await debugged.jvm.dispose()
  }
  return await entry.door({
    look: async () => await (await openDebuggerPort(address)).jvm.dispose(),
    open: () => jdwpDoor(address, patienceMs),
  })
}

/** An agent that has been told where to find us. */
class Entry {
  readonly #target: TargetProcess
  readonly #dir: SessionDirectory
  readonly #server: LinkServer
  #woken = false

  private constructor(target: TargetProcess, dir: SessionDirectory, server: LinkServer) {
    this.#target = target
    this.#dir = dir
    this.#server = server
  }

  static async into(debugged: DebuggedJvm, calls: DebuggerCalls, jar: AgentJar): Promise<Entry> {
    const { address } = debugged
    const target = targetOf(debugged)
    const dir = makeSessionDirectory(target, BUFFER_BYTES)
    let server: LinkServer | undefined
    try {
      const token = newToken()
      server = await actingAs(userToBe(target), () => LinkServer.listen(join(dir.inside, SOCKET), token))
      const sees = await eyesOf(calls)
      const path = (await sees(jar.path)) ? jar.path : carried(jar, dir)
      const owner = ownerFor(target)
      if (owner !== undefined) dir.giveTo(owner)
      if (!(await sees(join(dir.path, SOCKET))))
        throw new NothingShared(address, `it does not see ${dir.path}`)
      const entry = new Entry(target, dir, server)
      const line = withToken(launchLine({ ...jar, path }, dir), token)
      const refusal = await entry.#launch(debugged, calls, { ...jar, path }, line)
      if (refusal !== null) throw startProblem(target.pid, refusal)
      return entry
    } catch (problem) {
      server?.close()
      dir.remove()
      throw problem
    }
  }

  /** @returns why the agent could not start; null if it has */
  async #launch(
    { jvm, address }: DebuggedJvm,
    calls: DebuggerCalls,
    jar: AgentJar,
    line: string,
  ): Promise<string | null> {
    const asleep = await sleepingAgent(jvm, calls, jar.build)
    if (asleep !== null) {
      this.#woken = true
      const apply = 'apply(Ljava/lang/Object;)Ljava/lang/Object;'
      return await calls.text(await calls.of(asleep.agent, asleep.type, apply, [await calls.string(line)]))
    }
    const loader = (await calls.bootClass(INSTRUMENTATION)) ?? (await afterItsModule(calls))
    if (loader === null) throw new NoInstrumentThere(address)
    await onClassPath(jvm, calls, jar.path)
    await calls.staticOf(loader, LOAD_AGENT, [await calls.string(jar.path)])
    const boot = await waitingBoot(jvm)
    if (boot === null) throw new AnotherAgentThere(address)
    return await calls.text(await calls.staticOf(boot, LAUNCHED, [await calls.string(line)]))
  }

  /** To be called once the debugger has gone, and all threads run. */
  async door(again: NonNullable<OpenDoor['again']>): Promise<OpenDoor> {
    const target = this.#target
    const dir = this.#dir
    const owner: Owner | undefined = ownerFor(target)
    try {
      const link = await this.#server.accept(CONNECT_MS)
      if (link === null) throw startProblem(target.pid, null)
      return {
        link,
        pid: target.pid,
        dir: dir.path,
        inside: dir.inside,
        owner,
        acting: (work) => actingAs(userToBe(target), work),
        woken: this.#woken,
        executed: () => Promise.resolve(new Set()), // what has been compiled only the attach mechanism tells
        perf: () => perfCounter(target),
        leave: () => dir.remove(),
        again,
      }
    } catch (problem) {
      dir.remove()
      throw problem
    } finally {
      this.#server.close()
    }
  }
}

/** @throws NothingShared if it is no process of this machine that we may look at */
export function targetOf(debugged: DebuggedJvm): TargetProcess {
  const pid = processServing(debugged)
  const target = pid === null ? undefined : readTargetProcess(pid)
  if (target === undefined)
    throw new NothingShared(debugged.address, 'no process of this machine has that port')
  return target
}

/** Whether a file is there for the JVM, by its path, and it may read it. */
async function eyesOf(calls: DebuggerCalls): Promise<(path: string) => Promise<boolean>> {
  const type = await calls.bootClass('java.io.File')
  if (type === null) throw new ThrownInTarget('java.io.File', 'there is no such class')
  return async (path) => {
    const file = await calls.create(type, '(Ljava/lang/String;)V', [await calls.string(path)])
    const answer = await calls.of(file, type, 'canRead()Z')
    return answer.tag === 'BOOLEAN' && answer.value
  }
}

/** Into the directory that both see. */
function carried(jar: AgentJar, dir: SessionDirectory): string {
  dir.put(AGENT, readFileSync(jar.path), undefined)
  return join(dir.path, AGENT)
}

/** An agent of ours that an earlier session has left asleep (JFluid1.Setup); null if there is none of this build. */
async function sleepingAgent(
  jvm: JdwpTarget,
  calls: DebuggerCalls,
  build: string,
): Promise<{ readonly agent: ObjectId; readonly type: ClassId } | null> {
  const setup = await calls.loaded(SETUP)
  if (setup === null) return null
  const [agent, itsBuild] = await staticFields(jvm, setup, ['agent', 'agentBuild'])
  if (agent === undefined || !('id' in agent) || agent.id === null) return null
  if (itsBuild === undefined || (await calls.text(itsBuild)) !== build) return null
  const type = granted(await jvm.objectReference.referenceType(agent.id), 'the agent')
  return type.kind === 'CLASS' ? { agent: agent.id, type: type.id } : null
}

async function staticFields(jvm: JdwpTarget, type: ClassId, names: readonly string[]): Promise<Value[]> {
  const fields = granted(await jvm.referenceType.fields(type), 'fields of the agent')
  const ids = names.flatMap((name) => fields.find((it) => it.name === name)?.id ?? [])
  return granted(await jvm.referenceType.getValues(type, ids), 'the agent')
}

/** A program that is made of modules may have started without it. */
async function afterItsModule(calls: DebuggerCalls): Promise<ClassId | null> {
  const modules = await calls.bootClass('jdk.internal.module.Modules')
  if (modules === null) return null
  try {
    await calls.staticOf(modules, 'loadModule(Ljava/lang/String;)Ljava/lang/Module;', [
      await calls.string('java.instrument'),
    ])
  } catch (problem) {
    if (problem instanceof ThrownInTarget) return null
    throw problem
  }
  return await calls.bootClass(INSTRUMENTATION)
}

/**
 * Has the system class loader look into the jar, as the JVM itself does for an agent (jvmtiEnv.cpp, AddToSystemClassLoaderSearch).
 * loadAgent would print to the program's output what it does not find.
 */
async function onClassPath(jvm: JdwpTarget, calls: DebuggerCalls, path: string): Promise<void> {
  const loader = await calls.static(
    'Ljava/lang/ClassLoader;',
    'getSystemClassLoader()Ljava/lang/ClassLoader;',
  )
  if (!('id' in loader) || loader.id === null)
    throw new ThrownInTarget(APPEND, 'there is no system class loader')
  for (const type of granted(await jvm.virtualMachine.classesBySignature(BOOT), 'the agent')) {
    const its = await jvm.referenceType.classLoader(type.id)
    if (its.ok && its.value === loader.id) return
  }
  const { id } = granted(await jvm.objectReference.referenceType(loader.id), 'the system class loader')
  for (let type: ClassId | null = id as ClassId; type !== null; ) {
    const methods = granted(await jvm.referenceType.methods(type), 'methods of the system class loader')
    if (methods.some((it) => `${it.name}${it.descriptor}` === APPEND)) {
      await calls.of(loader.id, type, APPEND, [await calls.string(path)])
      return
    }
    type = granted(await jvm.classType.superclass(type), 'the class above the system class loader')
  }
  throw new ThrownInTarget(APPEND, 'the system class loader of the program has no such method')
}

/** What loadAgent has just loaded; null if it is of a jfluid that did not wait. */
async function waitingBoot(jvm: JdwpTarget): Promise<ClassId | null> {
  for (const type of granted(await jvm.virtualMachine.classesBySignature(BOOT), 'the agent')) {
    if (type.kind !== 'CLASS') continue
    const [given] = await staticFields(jvm, type.id, ['given'])
    if (given !== undefined && 'id' in given && given.id !== null) return type.id
  }
  return null
}
