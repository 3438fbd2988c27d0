// The target of most trials, `fix.Witness`, reports harm to itself. The JVM is also asked for the code of its
// methods and for remains of jfluid in and around it.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { JdwpTarget } from '../../src/jdwp-client/target.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { liveCode, probed } from '../live/live-code.ts'
import { added, descriptors, filesOf, mappedFiles, threadNames, until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaOptions, type JavaProcess, readableByAll, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { callsByMethod, startRecording } from '../support/jfluid.ts'
import { Harmed } from './trials.ts'

interface KernelThread {
  readonly id: string
  /** The first 15 characters of the thread's name. */
  readonly name: string
  /** Time for which the thread was runnable without a processor; 0 if the kernel does not report it. */
  readonly starvedMs: number
}

function kernelThreads(pid: number): KernelThread[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    try {
      const name = readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim()
      const [, starved] = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')
      return [{ id, name, starvedMs: Number(starved ?? 0) / 1e6 }]
    } catch {
      return [] // it has ended
    }
  })
}

/** Timeout of a wait for a silent client, plus the delay of a busy machine: see src/bounds.md. */
export const HELD_MS = 2500

/** Maximum time until a connection is closed after its last message. */
const CLOSED_MS = 2000

export interface State {
  readonly calls: number
  readonly wrong: number
  readonly thrown: number
  /** Longest stall of a thread since the last request, in ms. */
  readonly longest: number
  /** The same stall without the delay of a busy machine: the thread did not wait for a processor. */
  readonly asleep: number
  readonly text: string
}

/** Visible remains of jfluid in and around a JVM. */
interface Seen {
  readonly threads: readonly string[]
  descriptors: readonly string[]
  readonly mapped: readonly string[]
}

const classes = new Map<string, Promise<string>>()

/** Returns the directory of the witness's classes, which are compiled once per test file and JDK, and can be read by any user. */
function witnessClasses(jdk: Jdk): Promise<string> {
  let compiled = classes.get(jdk.home)
  if (compiled === undefined) {
    compiled = compileFixture(jdk, 'Witness').then(readableByAll)
    classes.set(jdk.home, compiled)
  }
  return compiled
}

export class Witness {
  readonly java: JavaProcess
  readonly #jvm: JdwpTarget | null
  #settled: Seen | null = null
  readonly #clients: number[] = []

  private constructor(java: JavaProcess, jvm: JdwpTarget | null) {
    this.java = java
    this.#jvm = jvm
  }

  get pid(): number {
    return this.java.pid
  }

  /**
   * @param vm  options of the JVM
   * @param debuggable  whether its debugger port is open, which `ownCode` needs
   */
  static async start(
    jdk: Jdk,
    {
      vm = [],
      threads = 2,
      rest = 0,
      eternal = false,
      debuggable = true,
      options,
    }: {
      vm?: readonly string[]
      threads?: number
      /** Pause of a thread after 1024 calls, in ms. */
      rest?: number
      /** The loop that calls the root is a single activation. */
      eternal?: boolean
      debuggable?: boolean
      options?: JavaOptions
    } = {},
  ): Promise<Witness> {
    const port = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0'
    const args = [...(debuggable ? [port] : []), ...vm, '-cp', await witnessClasses(jdk)]
    const own = [String(threads), String(rest), ...(eternal ? ['eternal'] : [])]
    const java = startJava(jdk, [...args, 'fix.Witness', ...own], options)
    let jvm: JdwpTarget | null = null
    if (debuggable) {
      const told = await java.line(/Listening for transport/)
      jvm = await JdwpTarget.connect(Number(/\d+$/.exec(told)![0]))
    }
    await java.line(/^ready/)
    return new Witness(java, jvm)
  }

  /** Runs one session, so that everything exists that stays in a JVM permanently: see the list in docs/target.md. */
  async settle(): Promise<void> {
    const recording = startRecording(this.pid, '--root', 'fix.Witness.root')
    this.#clients.push(recording.process.pid)
    await recording.started
    recording.process.child.kill('SIGINT')
    const { code } = await recording.process.exit
    // It does not matter whether the root was called during the session.
    if (code !== 0 && code !== STATUS.rootNeverCalled)
      throw new Error(`jfluid record ended with ${code}:\n${recording.process.stderr()}`)
    this.#settled = await this.#look()
    await this.state()
  }

  /** Adds a client whose files must be removed afterwards. */
  client(pid: number): void {
    this.#clients.push(pid)
  }

  async #look(): Promise<Seen> {
    return {
      threads: await threadNames(this.pid),
      descriptors: descriptors(this.pid),
      mapped: mappedFiles(this.pid),
    }
  }

  /** Sends a line, and returns the next line of output with this beginning. */
  async ask(line: string, start: string): Promise<string> {
    const from = this.java.stdout().length
    this.java.send(line)
    let found: string | undefined
    await until(() => {
      const whole = this.java.stdout().slice(from, this.java.stdout().lastIndexOf('\n') + 1)
      found = whole.split('\n').find((it) => it.startsWith(start))
      return found !== undefined || this.java.child.exitCode !== null || this.java.child.signalCode !== null
    })
    if (found === undefined) {
      const { exitCode, signalCode } = this.java.child
      const how = signalCode ?? `code ${exitCode}`
      throw new Harmed(`the target ended (${how}):\n${this.java.stdout()}\n${this.java.stderr()}`)
    }
    return found
  }

  async state(): Promise<State> {
    const text = await this.ask('state', 'state ')
    const [calls, wrong, thrown, longest, asleep] = (text.match(/\d+/g) ?? []).map(Number)
    return { calls: calls!, wrong: wrong!, thrown: thrown!, longest: longest!, asleep: asleep!, text }
  }

  /** Returns root calls per second. */
  async rate(ms = 300): Promise<number> {
    return Number(/\d+/.exec(await this.ask(`rate ${ms}`, 'rate '))![0])
  }

  /** Returns root calls per second of processor time, independent of other load. */
  async pace(ms: number): Promise<number> {
    return Number(/\d+/.exec(await this.ask(`pace ${ms}`, 'pace '))![0])
  }

  /** Returns the longest time from the definition of a new class to its first result, in ms. */
  async load(count: number): Promise<number> {
    return (await this.loads(count)).longest
  }

  /** Loads classes like `load`. Returns also the total for all classes, and both times without waits for a processor. */
  async loads(count: number): Promise<{ longest: number; all: number; asleep: number; allAsleep: number }> {
    const line = await this.ask(`load ${count}`, 'loaded ')
    const [, longest, all, asleep, allAsleep] = (line.match(/\d+/g) ?? []).map(Number)
    return { longest: longest!, all: all!, asleep: asleep!, allAsleep: allAsleep! }
  }

  /**
   * Runs a normal session in which a root is called this number of times.
   *
   * @returns differences of its profile from the expected one; empty for none
   */
  async miscounted(calls = 200): Promise<string[]> {
    const recording = startRecording(this.pid, '--root', 'fix.Witness.asked')
    this.client(recording.process.pid)
    await recording.started
    await this.ask(`call ${calls}`, 'called ')
    const profile = await recording.stop()
    const wrong = [
      ...(profile.truncated === false ? [] : [`the next session was truncated: ${profile.warnings}`]),
      ...(profile.instrumentation.gaps === 0
        ? []
        : [`the next session has ${profile.instrumentation.gaps} gaps`]),
    ]
    const counted = callsByMethod(profile)
    const each = { asked: 1, root: 1, mix: 16, guarded: 16, refuse: 16, applied: 16, locked: 16 }
    for (const [method, times] of Object.entries(each)) {
      const [, found = 0] = [...counted].find(([name]) => name.startsWith(`fix.Witness.${method}(`)) ?? []
      if (found !== calls * times)
        wrong.push(`the next session has ${found} calls of ${method}, not ${calls * times}`)
    }
    return wrong
  }

  /** Waits until no method of the program calls a probe. Returns ms. Needs the debugger port. */
  async ownCode(): Promise<number> {
    const begun = performance.now()
    const jvm = this.#jvm
    if (jvm === null) throw new Error('started without its debugger port')
    await until(async () => probed(await liveCode(jvm, 'Lfix/')).length === 0)
    return performance.now() - begun
  }

  /** Returns whether a method of the program calls a probe. Needs the debugger port. */
  async hasProbes(): Promise<boolean> {
    if (this.#jvm === null) throw new Error('started without its debugger port')
    return probed(await liveCode(this.#jvm, 'Lfix/')).length > 0
  }

  /**
   * Waits until jfluid's threads have ended according to the kernel. The JVM gets no request and need not answer. The last thread restores
   * the code before it ends.
   *
   * @returns time in ms at which a thread was last seen, 0 if never, and the time for which the restore had no processor
   */
  async withoutAgent(): Promise<{ seen: number; starvedMs: number }> {
    const before = new Map(kernelThreads(this.pid).map(({ id, starvedMs }) => [id, starvedMs]))
    const latest = new Map<string, { starvedMs: number; isOurs: boolean }>()
    let seen = 0
    await until(() => {
      // The VM thread does the work that the agent waits for.
      const involved = kernelThreads(this.pid).filter(({ name }) => /^jfluid-|^VM Thread$/.test(name))
      for (const { id, name, starvedMs } of involved)
        latest.set(id, { starvedMs: starvedMs - (before.get(id) ?? 0), isOurs: name !== 'VM Thread' })
      const isThere = involved.some(({ name }) => name !== 'VM Thread')
      if (isThere) seen = performance.now()
      return !isThere
    })
    // jfluid's threads wait for each other and for the VM thread, so their simultaneous waits for a processor count once.
    const most = (isOurs: boolean): number =>
      Math.max(0, ...[...latest.values()].filter((it) => it.isOurs === isOurs).map((it) => it.starvedMs))
    return { seen, starvedMs: most(true) + most(false) }
  }

  /** Waits until jfluid's threads have ended. Returns ms. */
  async withoutThreads(): Promise<number> {
    const begun = performance.now()
    await until(async () => !(await threadNames(this.pid)).some((name) => /jfluid/.test(name)))
    return performance.now() - begun
  }

  /** Returns the harm reported by the program, and its work since the last request. */
  async harm(heldMs = HELD_MS): Promise<{ harm: string[]; longest: number; asleep: number }> {
    const state = await this.state()
    const harm: string[] = []
    if (state.wrong + state.thrown > 0) harm.push(state.text)
    if (state.longest > heldMs) harm.push(`a thread stood still for ${state.longest} ms`)
    return { harm, longest: state.longest, asleep: state.asleep }
  }

  /**
   * Returns traces of jfluid that did not exist after the first session. The JVM closes a connection a moment after the end of an answer,
   * also after the answer about its threads.
   */
  async left(): Promise<string[]> {
    const latest = performance.now() + CLOSED_MS
    let left = await this.#leftNow()
    while (left.length > 0 && performance.now() < latest) {
      await sleep(50)
      left = await this.#leftNow()
    }
    return left
  }

  async #leftNow(): Promise<string[]> {
    if (this.#settled === null) throw new Error('settle() first')
    const now = await this.#look()
    // One descriptor belongs to the connection of this check.
    const { descriptors: settled } = this.#settled
    for (let looks = 0; looks < 10 && added(settled, now.descriptors).length > 0; looks++) {
      await sleep(5)
      now.descriptors = descriptors(this.pid)
    }
    const files = filesOf(this.pid, ...this.#clients).filter((path) => path !== `/tmp/.java_pid${this.pid}`)
    const jdkLibrary = (path: string): boolean => /\/lib\/[^/]+\.so$/.test(path)
    return [
      ...added(this.#settled.threads, now.threads).map((it) => `thread ${it}`),
      ...added(this.#settled.descriptors, now.descriptors).map((it) => `descriptor ${it}`),
      ...added(this.#settled.mapped, now.mapped)
        .filter((it) => !jdkLibrary(it))
        .map((it) => `mapping ${it}`),
      ...files.map((it) => `file ${it}`),
    ]
  }

  async end(): Promise<void> {
    await this.#jvm?.dispose()
    await this.java.kill()
  }
}
