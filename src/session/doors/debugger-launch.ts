// Makes a suspended thread of the JVM load the agent, or wake it.
// The `java` launcher calls `sun.instrument.InstrumentationImpl.loadAgent` for a `Launcher-Agent-Class` (java.base, LauncherHelper) in a
// jar on the class path; jfluid calls the same method. `loadAgent` passes no options, so Boot keeps the Instrumentation object until
// `launched` passes the options. An agent that already sleeps in the JVM gets the launch line directly and reads no launch file.

import { EX_UNAVAILABLE, JfluidError } from '../../base/errors.ts'
import { type ClassId, granted, type JdwpTarget, type ObjectId, type Value } from '../../jdwp-client/index.ts'
import { type DebuggerCalls, objectIn, ThrownInTarget } from './debugger-calls.ts'
import { type DebuggedJvm, type DebuggerAddress, textOf } from './debugger-port.ts'

/** Thrown if the runtime image lacks the module that loads agents. */
export class NoInstrumentThere extends JfluidError {
  static sample = () => new NoInstrumentThere({ host: '10.0.0.7', port: 5005 })
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Run the program on a runtime with the module java.instrument (jlink --add-modules …).'
  constructor(address: DebuggerAddress) {
    super(`cannot load the agent into the JVM at ${textOf(address)}: it has no module java.instrument`)
  }
}

/** Thrown if another version of jfluid has loaded its agent into the JVM earlier. That agent stays until the JVM ends. */
export class AnotherAgentThere extends JfluidError {
  static sample = () => new AnotherAgentThere({ host: '10.0.0.7', port: 5005 })
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Use the jfluid of that agent, or restart the JVM.'
  constructor(address: DebuggerAddress) {
    super(
      `the JVM at ${textOf(address)} contains the agent of another jfluid build, and a second agent cannot be loaded by a debug port`,
    )
  }
}

const FORESEEN = [
  ...['java.lang.Class', 'java.lang.ClassLoader', 'java.lang.Throwable'],
  'jdk.internal.loader.ClassLoaders$AppClassLoader',
]
const INSTRUMENTATION = 'sun.instrument.InstrumentationImpl'
const LOAD_AGENT = 'loadAgent(Ljava/lang/String;)V'
const LAUNCHED = 'launched(Ljava/lang/String;)Ljava/lang/String;'
const APPEND = 'appendToClassPathForInstrumentation(Ljava/lang/String;)V'
const BOOT = 'Ljfluid/Boot;'
const SETUP = 'Ljava/lang/JFluid1$Setup;'

/** A sleeping agent of this build. An earlier session has left the agent in the JVM. */
export interface SleepingAgent {
  readonly agent: ObjectId
  readonly type: ClassId
}

/** The agent that a session loads or wakes. */
export interface Launch {
  readonly asleep: SleepingAgent | null
  /**
   * Returns the launch line for the agent.
   * @param jar  path of the jar as seen by the JVM; a sleeping agent ignores the path
   */
  line(jar: string): string
  /** Makes the jar readable for the JVM. */
  bring(): Promise<{ readonly path: string; remove(): Promise<void> }>
}

export interface Launched {
  /** Reason why the agent could not start. Null if it has started. */
  readonly refusal: string | null
  /** Whether a sleeping agent was woken. */
  readonly woken: boolean
}

/**
 * Sends the requests that need no suspended thread, before a thread is suspended.
 * @returns the agent that sleeps in the JVM; null if there is none
 */
export async function foreseeLaunch(
  { jvm }: DebuggedJvm,
  calls: DebuggerCalls,
  build: string,
): Promise<SleepingAgent | null> {
  const asleep = await sleepingAgent(jvm, calls, build)
  const texts = ['java.io.File', INSTRUMENTATION]
  await calls.foresee([...texts, ...FORESEEN], texts)
  return asleep
}

/**
 * Loads or wakes the agent.
 * @throws NoInstrumentThere, AnotherAgentThere, ThrownInTarget
 */
export async function launch(
  { jvm, address }: DebuggedJvm,
  calls: DebuggerCalls,
  agent: Launch,
): Promise<Launched> {
  const { asleep } = agent
  if (asleep !== null) {
    const apply = 'apply(Ljava/lang/Object;)Ljava/lang/Object;'
    const line = await calls.string(agent.line(''))
    const answer = await calls.of(asleep.agent, asleep.type, apply, [line])
    return { refusal: await calls.text(answer), woken: true }
  }
  const loader = (await calls.bootClass(INSTRUMENTATION)) ?? (await afterItsModule(calls))
  if (loader === null) throw new NoInstrumentThere(address)
  const jar = await agent.bring()
  let isTaken = false
  try {
    await onClassPath(jvm, calls, jar.path)
    await calls.staticOf(loader, LOAD_AGENT, [await calls.string(jar.path)])
    const boot = await waitingBoot(jvm)
    if (boot === null) throw new AnotherAgentThere(address)
    const answer = await calls.staticOf(boot, LAUNCHED, [await calls.string(agent.line(jar.path))])
    isTaken = true
    return { refusal: await calls.text(answer), woken: false }
  } finally {
    if (!isTaken) await jar.remove() // if the agent started, Boot removes the jar
  }
}

/** Finds an agent that an earlier session has left asleep (JFluid1.Setup). Returns null if there is no agent of this build. */
async function sleepingAgent(
  jvm: JdwpTarget,
  calls: DebuggerCalls,
  build: string,
): Promise<SleepingAgent | null> {
  const setup = await calls.loaded(SETUP)
  if (setup === null) return null
  const [agent, itsBuild] = await staticFields(jvm, setup, ['agent', 'agentBuild'])
  const object = objectIn(agent)
  if (object === null) return null
  if (itsBuild === undefined || (await calls.text(itsBuild)) !== build) return null
  const type = granted(await jvm.objectReference.referenceType(object), 'the agent')
  if (type.kind !== 'CLASS') return null
  calls.keep(object)
  await calls.methodsOf(type.id)
  return { agent: object, type: type.id }
}

async function staticFields(jvm: JdwpTarget, type: ClassId, names: readonly string[]): Promise<Value[]> {
  const fields = granted(await jvm.referenceType.fields(type), 'fields of the agent')
  const ids = names.flatMap((name) => fields.find((it) => it.name === name)?.id ?? [])
  return granted(await jvm.referenceType.getValues(type, ids), 'the agent')
}

/**
 * Loads the module java.instrument if the program lacks it, and enables native access for this module. If a module that was loaded later
 * has no native access, JDK 24 and newer refuse to let it load a library, or print a warning to the program's error output.
 */
async function afterItsModule(calls: DebuggerCalls): Promise<ClassId | null> {
  const modules = await calls.bootClass('jdk.internal.module.Modules')
  const type = await calls.bootClass('java.lang.Module')
  if (modules === null || type === null) return null
  try {
    const module = objectIn(
      await calls.staticOf(modules, 'loadModule(Ljava/lang/String;)Ljava/lang/Module;', [
        await calls.string('java.instrument'),
      ]),
    )
    if (module !== null) await calls.of(module, type, 'implAddEnableNativeAccess()Ljava/lang/Module;')
  } catch (problem) {
    if (problem instanceof ThrownInTarget) return null
    throw problem
  }
  return await calls.bootClass(INSTRUMENTATION)
}

/**
 * Appends the jar to the class path of the system class loader, as the JVM does for an agent (jvmtiEnv.cpp, AddToSystemClassLoaderSearch).
 * Otherwise loadAgent would print an error to the program's output.
 */
async function onClassPath(jvm: JdwpTarget, calls: DebuggerCalls, path: string): Promise<void> {
  const loader = objectIn(
    await calls.static('Ljava/lang/ClassLoader;', 'getSystemClassLoader()Ljava/lang/ClassLoader;'),
  )
  if (loader === null) throw new ThrownInTarget(APPEND, 'there is no system class loader')
  for (const type of granted(await jvm.virtualMachine.classesBySignature(BOOT), 'the agent')) {
    const its = await jvm.referenceType.classLoader(type.id)
    if (its.ok && its.value === loader) return
  }
  const { id } = granted(await jvm.objectReference.referenceType(loader), 'the system class loader')
  for (let type: ClassId | null = id as ClassId; type !== null; ) {
    const methods = granted(await calls.methodsOf(type), 'methods of the system class loader')
    if (methods.some((it) => `${it.name}${it.descriptor}` === APPEND)) {
      await calls.of(loader, type, APPEND, [await calls.string(path)])
      return
    }
    type = granted(await jvm.classType.superclass(type), 'the class above the system class loader')
  }
  throw new ThrownInTarget(APPEND, 'the system class loader of the program has no such method')
}

/** Returns the Boot class that loadAgent has just loaded. Null if it comes from another jfluid version and does not wait for `launched`. */
async function waitingBoot(jvm: JdwpTarget): Promise<ClassId | null> {
  for (const type of granted(await jvm.virtualMachine.classesBySignature(BOOT), 'the agent')) {
    if (type.kind !== 'CLASS') continue
    const [given] = await staticFields(jvm, type.id, ['given'])
    if (objectIn(given) !== null) return type.id
  }
  return null
}
