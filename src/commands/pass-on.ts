// Signals under `run`: whatever is sent to jfluid is meant for the program.

import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const PASSED_ON = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const
const FROM_KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP'])
/** As /proc cuts it off. HotSpot's thread that sleeps until the JVM gets a signal, and does nothing else. */
const DISPATCHER = 'Signal Dispatch'
const GLANCE_MS = 250
/** Longer than the JVM takes to see its own signal. */
const SEEN_MS = 200

/**
 * Gives our signals to the program, each once, until `dispose`. Made before the program is started: a signal that
 * ended us in between would leave it behind.
 */
export class PassOn {
  #child: ChildProcess | undefined
  readonly #handlers: (() => void)[]
  #jvm: number | undefined
  #glances: NodeJS.Timeout | undefined
  #dispatcher: string | null = null
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
    await sleep(SEEN_MS)
    if (this.#runs() === before) {
      this.#give(name)
      await sleep(SEEN_MS) // or the next glance would miss what it does to the dispatcher
    }
    this.#asking = false
    this.#glance()
  }

  /** SIGQUIT asks a JVM for its threads; a shell above it would only die of it. */
  #give(name: NodeJS.Signals): void {
    if (this.#child === undefined) return
    const { pid } = this.#child
    const jvm = this.#jvm
    if (name !== 'SIGQUIT' || jvm === undefined || jvm === pid || !isOfOurGroup(jvm)) this.#child.kill(name)
    else process.kill(jvm, name)
  }

  #watch(jvm: number | undefined): void {
    clearInterval(this.#glances)
    this.#jvm = jvm
    this.#dispatcher = null
    this.#seen = []
    if (groupsOf('self').terminal === -1) return
    this.#glance()
    this.#glances = setInterval(() => this.#glance(), GLANCE_MS)
    this.#glances.unref()
  }

  /** The older of two glances was before a signal, even if the newer was after it and before its handler. */
  #glance(): void {
    if (this.#asking) return
    this.#dispatcher ??= dispatcherOf(this.#jvm)
    this.#seen = [...this.#seen.slice(-1), this.#runs()]
  }

  /** How often the dispatcher has been run, in the kernel's words; null if there is none. */
  #runs(): string | null {
    if (this.#dispatcher === null) return null
    try {
      const status = readFileSync(this.#dispatcher, 'utf8')
      return status.slice(status.indexOf('voluntary_ctxt_switches'))
    } catch {
      return null // it has gone
    }
  }
}

/** Whether we are who Ctrl-C means: in the foreground of a terminal that makes signals of keys. */
function keysMakeSignals(): boolean {
  const { own, terminal } = groupsOf('self')
  return own === terminal && process.stdin.isRaw !== true
}

function isOfOurGroup(pid: number): boolean {
  return groupsOf(pid).own === groupsOf('self').own
}

/** The process group, and the one in the foreground of the process's terminal: -1 without a terminal. */
function groupsOf(pid: number | 'self'): { own: number; terminal: number } {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name may hold blanks and parentheses.
    const [, , own, , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { own: Number(own), terminal: Number(terminal) }
  } catch {
    return { own: 0, terminal: -1 } // it has gone
  }
}

/** The status file of a JVM's dispatcher; null if there is none. */
function dispatcherOf(jvm: number | undefined): string | null {
  try {
    for (const thread of readdirSync(`/proc/${jvm}/task`)) {
      const file = `/proc/${jvm}/task/${thread}/status`
      if (readFileSync(file, 'utf8').startsWith(`Name:\t${DISPATCHER}\n`)) return file
    }
  } catch {
    // It has gone, or never was.
  }
  return null
}
