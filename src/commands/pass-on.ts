// Signals under `run`: whatever is sent to jfluid is meant for the program.

import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { parseStatus } from '../attach/target-process.ts'
import { namesIn, textOf } from '../base/visible.ts'

const PASSED_ON = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const
const FROM_KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP'])
/** As /proc cuts it off. HotSpot's thread that sleeps until the JVM gets a signal, and does nothing else. */
const DISPATCHER = 'Signal Dispatch'
const LOOK_INTERVAL_MS = 250
/** Longer than the JVM takes to see its own signal, and how often it is looked at meanwhile. */
const SEEN_MS = 1000
const LOOK_MS = 20
/** A JVM that has been started and shows no dispatcher in so many glances has none (-Xrs). */
const MOST_LOOKS = 8

/**
 * Gives our signals to the program, each once, until `dispose`. Made before the program is started: a signal that
 * ended us in between would leave it behind.
 */
export class PassOn {
  #child: ChildProcess | undefined
  readonly #handlers: (() => void)[]
  #jvm: number | undefined
  /** It is one, and no shell that will start one. */
  #isJvm = false
  #glances: NodeJS.Timeout | undefined
  #dispatcher: string | null = null
  #vainGlances = 0
  /** What the JVM's dispatcher had done at the last two glances, the older first. */
  #seen: (string | null)[] = []
  #asking = false
  #ending: NodeJS.Signals | null = null

  constructor() {
    this.#handlers = PASSED_ON.map((name) => {
      const handler = (): void => this.#take(name)
      process.on(name, handler)
      return () => process.off(name, handler)
    })
  }

  /** The program has been started: synchronously, or a signal before it is lost. */
  to(child: ChildProcess): void {
    this.#child = child
    this.#watch(child.pid)
  }

  /** The signal that told the program to end; null if none did. */
  get ending(): NodeJS.Signals | null {
    return this.#ending
  }

  /** The JVM that is profiled: the program itself, or somewhere below it. */
  knows(jvm: number): void {
    this.#isJvm = true
    this.#watch(jvm)
  }

  dispose(): void {
    clearInterval(this.#glances)
    for (const off of this.#handlers) off()
  }

  #take(name: NodeJS.Signals): void {
    if (ENDING.has(name)) this.#ending ??= name
    if (!FROM_KEYS.has(name) || !keysMakeSignals()) this.#give(name)
    else void this.#giveUnlessSeen(name)
  }

  /**
   * Ctrl-C and Ctrl-\ reach the program by themselves, `kill` does not, and nothing in a signal that Node.js
   * hands on tells them apart. But the JVM does: what it was sent, it has seen. Signals that come while it is
   * asked are taken for the same one.
   */
  async #giveUnlessSeen(name: NodeJS.Signals): Promise<void> {
    const [before] = this.#seen
    this.#seen = []
    if (before === undefined || before === null) return // no JVM to ask: most likely the keys
    this.#asking = true
    if (!(await this.#runsAgain(before))) {
      this.#give(name)
      await this.#runsAgain(before) // or the next glance would miss what it does to the dispatcher
    }
    this.#asking = false
    this.#glance()
  }

  /** Whether the dispatcher is seen to run again, in a while. */
  async #runsAgain(before: string): Promise<boolean> {
    for (const end = performance.now() + SEEN_MS; performance.now() < end; ) {
      await sleep(LOOK_MS)
      if (this.#runs() !== before) return true
    }
    return false
  }

  /** SIGQUIT asks a JVM for its threads; a shell above it, or one that has none yet, would only die of it. */
  #give(name: NodeJS.Signals): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    if (name !== 'SIGQUIT') send(pid, name)
    else if (this.#jvm !== undefined && catchesSigquit(this.#jvm)) send(this.#jvm, name)
  }

  #watch(jvm: number | undefined): void {
    clearInterval(this.#glances)
    this.#jvm = jvm
    this.#dispatcher = null
    this.#vainGlances = 0
    this.#seen = []
    if (groupsOf('self').terminal === -1) return
    this.#glance()
    this.#glances = setInterval(() => this.#glance(), LOOK_INTERVAL_MS)
    this.#glances.unref()
  }

  /** The older of two glances was before a signal, even if the newer was after it and before its handler. */
  #glance(): void {
    if (this.#asking) return
    this.#dispatcher ??= dispatcherOf(this.#jvm)
    if (this.#dispatcher === null && this.#isJvm && ++this.#vainGlances === MOST_LOOKS)
      clearInterval(this.#glances)
    this.#seen = [...this.#seen.slice(-1), this.#runs()]
  }

  /** How often the dispatcher has been run, in the kernel's words; null if there is none. */
  #runs(): string | null {
    const status = this.#dispatcher === null ? undefined : textOf(this.#dispatcher)
    return status?.slice(status.indexOf('voluntary_ctxt_switches')) ?? null
  }
}

/** Whether we are who Ctrl-C means: in the foreground of a terminal that makes signals of keys. */
function keysMakeSignals(): boolean {
  const { own, terminal } = groupsOf('self')
  // For a pipe, Node.js would make a stream of it, and reading it fail with EAGAIN in the program.
  return own === terminal && !(isatty(0) && process.stdin.isRaw)
}

function catchesSigquit(pid: number): boolean {
  return parseStatus(textOf(`/proc/${pid}/status`) ?? '')?.catchesSigquit === true
}

/** What has gone needs no signal; what is not ours (sudo) takes none from us, and goes on. */
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** The process group, and the one in the foreground of the process's terminal: -1 without a terminal. */
function groupsOf(pid: number | 'self'): { own: number; terminal: number } {
  const stat = textOf(`/proc/${pid}/stat`)
  if (stat === undefined) return { own: 0, terminal: -1 } // it has gone
  // The name may hold blanks and parentheses.
  const [, , own, , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { own: Number(own), terminal: Number(terminal) }
}

/** The status file of a JVM's dispatcher; null if there is none. */
function dispatcherOf(jvm: number | undefined): string | null {
  const files = (namesIn(`/proc/${jvm}/task`) ?? []).map((thread) => `/proc/${jvm}/task/${thread}/status`)
  return files.find((file) => textOf(file)?.startsWith(`Name:\t${DISPATCHER}\n`)) ?? null
}
