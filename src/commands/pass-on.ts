// Signals under `run`: forwards signals that jfluid receives to the program.

import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { isatty } from 'node:tty'
import { parseStatus } from '../attach/target-process.ts'
import { namesIn, textOf } from '../base/visible.ts'

const PASSED_ON = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const
const FROM_KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT'])
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGTERM', 'SIGHUP'])
/** Name as truncated by /proc. This thread of HotSpot sleeps until the JVM receives a signal, and does nothing else. */
const DISPATCHER = 'Signal Dispatch'
const WATCH_INTERVAL_MS = 250
/** Maximum time until a JVM handles a received signal. CHECK_INTERVAL_MS is the interval of the checks in this time. */
const SIGNAL_SEEN_TIMEOUT_MS = 1000
const CHECK_INTERVAL_MS = 20
/** Number of failed searches for the dispatcher thread after which a started JVM is known to have no dispatcher (-Xrs). */
const MAX_CHECKS = 8

/**
 * Forwards each signal once to the program, until `dispose`. Create this object before the program is started. Otherwise a signal right
 * after the start would end jfluid and leave the program running.
 */
export class PassOn {
  #child: ChildProcess | undefined
  readonly #handlers: (() => void)[]
  #jvm: number | undefined
  /** Whether the program is a JVM, and not a shell that will start one. */
  #isJvm = false
  #checkTimer: NodeJS.Timeout | undefined
  #dispatcher: string | null = null
  #failedChecks = 0
  /** State of the JVM's dispatcher at the last two checks, the older first. */
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

  /** Sets the started program. Call this method synchronously after the start: a signal before the call is not forwarded. */
  to(child: ChildProcess): void {
    this.#child = child
    this.#watch(child.pid)
  }

  /** The signal that asked the program to end; null if there was none. */
  get ending(): NodeJS.Signals | null {
    return this.#ending
  }

  /** Sets the profiled JVM: the program itself, or a descendant process. */
  knows(jvm: number): void {
    this.#isJvm = true
    this.#watch(jvm)
  }

  dispose(): void {
    clearInterval(this.#checkTimer)
    for (const off of this.#handlers) off()
  }

  #take(name: NodeJS.Signals): void {
    if (ENDING.has(name)) this.#ending ??= name
    if (!FROM_KEYS.has(name) || !keysMakeSignals()) this.#give(name)
    else void this.#giveUnlessSeen(name)
  }

  /**
   * Ctrl-C and Ctrl-\ also reach the program directly. A signal sent by `kill` does not. Node.js does not show the origin of a signal. So
   * this method checks whether the JVM's dispatcher has run. If the dispatcher has run, the JVM has already received the signal. Signals
   * that arrive during the check are treated as the same signal.
   */
  async #giveUnlessSeen(name: NodeJS.Signals): Promise<void> {
    const [before] = this.#seen
    this.#seen = []
    if (before === undefined || before === null) return // there is no JVM to check: most likely the signal comes from the keyboard, and has also reached the program
    this.#asking = true
    if (!(await this.#runsAgain(before))) {
      this.#give(name)
      await this.#runsAgain(before) // waits, since otherwise the next check would miss the dispatcher's reaction to this signal
    }
    this.#asking = false
    this.#check()
  }

  /** Whether the dispatcher runs again within SIGNAL_SEEN_TIMEOUT_MS. */
  async #runsAgain(before: string): Promise<boolean> {
    for (const end = performance.now() + SIGNAL_SEEN_TIMEOUT_MS; performance.now() < end; ) {
      await sleep(CHECK_INTERVAL_MS)
      if (this.#runs() !== before) return true
    }
    return false
  }

  /**
   * Forwards a signal. SIGQUIT makes a JVM print its threads, but kills a shell that started the JVM, or a JVM that is not initialized.
   */
  #give(name: NodeJS.Signals): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    if (name !== 'SIGQUIT') send(pid, name)
    else if (this.#jvm !== undefined && catchesSigquit(this.#jvm)) send(this.#jvm, name)
  }

  #watch(jvm: number | undefined): void {
    clearInterval(this.#checkTimer)
    this.#jvm = jvm
    this.#dispatcher = null
    this.#failedChecks = 0
    this.#seen = []
    if (groupsOf('self').terminal === -1) return
    this.#check()
    this.#checkTimer = setInterval(() => this.#check(), WATCH_INTERVAL_MS)
    this.#checkTimer.unref()
  }

  /**
   * Checks the dispatcher. The newer of two checks may happen between a signal and its handler. The older check is always before the
   * signal.
   */
  #check(): void {
    if (this.#asking) return
    this.#dispatcher ??= dispatcherOf(this.#jvm)
    if (this.#dispatcher === null && this.#isJvm && ++this.#failedChecks === MAX_CHECKS)
      clearInterval(this.#checkTimer)
    this.#seen = [...this.#seen.slice(-1), this.#runs()]
  }

  /** Number of context switches of the dispatcher, as text of the kernel; null if there is no dispatcher. */
  #runs(): string | null {
    const status = this.#dispatcher === null ? undefined : textOf(this.#dispatcher)
    return status?.slice(status.indexOf('voluntary_ctxt_switches')) ?? null
  }
}

/** Whether Ctrl-C reaches jfluid. True if jfluid runs in the foreground of a terminal that converts keys to signals. */
function keysMakeSignals(): boolean {
  const { own, terminal } = groupsOf('self')
  // For a pipe, `process.stdin` would create a stream, and the program's reads would fail with EAGAIN.
  return own === terminal && !(isatty(0) && process.stdin.isRaw)
}

function catchesSigquit(pid: number): boolean {
  return parseStatus(textOf(`/proc/${pid}/status`) ?? '')?.catchesSigquit === true
}

/** Sends a signal. A process that has ended needs no signal. A process of another user (sudo) cannot receive a signal, and continues. */
function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}

/** Returns the process group, and the foreground group of the process's terminal: -1 without a terminal. */
function groupsOf(pid: number | 'self'): { own: number; terminal: number } {
  const stat = textOf(`/proc/${pid}/stat`)
  if (stat === undefined) return { own: 0, terminal: -1 } // the process has ended
  // The process name may contain blanks and parentheses.
  const [, , own, , , terminal] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { own: Number(own), terminal: Number(terminal) }
}

/** Path of the status file of a JVM's dispatcher thread; null if there is none. */
function dispatcherOf(jvm: number | undefined): string | null {
  const files = (namesIn(`/proc/${jvm}/task`) ?? []).map((thread) => `/proc/${jvm}/task/${thread}/status`)
  return files.find((file) => textOf(file)?.startsWith(`Name:\t${DISPATCHER}\n`)) ?? null
}
