// Ctrl-C and similar signals end a session in order: the target gets its code back before jfluid exits.

import { constants } from 'node:os'

const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

export interface StopSignal {
  /** Resolves when the user or the system asks jfluid to stop. */
  readonly fired: Promise<NodeJS.Signals>
  /** The first received signal; null if no signal was received. */
  readonly signal: NodeJS.Signals | null
  /** Aborted when `fired` resolves. */
  readonly aborted: AbortSignal
  /**
   * Calls the handler at the next signal, which then does not end the process at once, even if it is a repeated one. The signal still
   * counts: `signal` and `fired` report it. null removes the handler.
   */
  instead(handler: (() => void) | null): void
  /**
   * Returns a stop signal for a part of the work. What waits for the part's signal is released by `dispose` of the part: this matters if
   * the work has many parts and no signal arrives for days.
   */
  part(): StopSignal
  dispose(): void
}

/** Exit status that shells report for a process that was ended by a signal. */
export function signalStatus(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/**
 * Makes later signals end the process with the exit status of the finished work. Call this function when the work is done, before the
 * command removes its signal handlers. The effect is permanent.
 */
export function keepStatus(): void {
  for (const name of ENDING) process.on(name, () => process.exit())
  // When Node.js runs out of work, it removes its signal handlers before it exits. For some milliseconds, a signal could then end the
  // process.
  process.on('beforeExit', () => process.exit())
}

/**
 * Returns the signals that end jfluid. Under `run`, SIGQUIT is forwarded to the JVM, which prints its threads. Call this function before a
 * screen adds its handlers.
 */
export function endingSignals(): readonly NodeJS.Signals[] {
  const isQuitTaken = process.listenerCount('SIGQUIT') > 0
  return ENDING.filter((name) => name !== 'SIGQUIT' || !isQuitTaken)
}

/** Returns the result of work that the signal ends; null if the signal has ended it. */
export async function unlessStopped<T>(
  { aborted }: Pick<StopSignal, 'aborted'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  try {
    return await work(aborted)
  } catch (problem) {
    if (aborted.aborted && problem === aborted.reason) return null
    throw problem
  }
}

export function stopSignal(names = endingSignals()): StopSignal {
  let signal: NodeJS.Signals | null = null
  let resolve: (signal: NodeJS.Signals) => void = () => {}
  const fired = new Promise<NodeJS.Signals>((r) => {
    resolve = r
  })
  let instead: (() => void) | null = null
  const parts = new Set<(signal: NodeJS.Signals) => void>()
  const handlers = names.map((name) => {
    let again = false
    const handler = (): void => {
      const called = instead
      instead = null
      called?.()
      // A second signal exits at once; the agent then detaches on its own. A closed terminal may send SIGHUP several times, so only a
      // repeated SIGHUP is ignored.
      if (called === null && again && name !== 'SIGHUP') process.exit(signalStatus(name))
      again = true
      signal ??= name
      resolve(name)
      for (const fire of parts) fire(name)
    }
    process.on(name, handler)
    return () => process.off(name, handler)
  })
  const whole: Whole = {
    get signal() {
      return signal
    },
    instead: (handler) => {
      instead = handler
    },
    part() {
      let fire: (signal: NodeJS.Signals) => void = () => {}
      const partFired = new Promise<NodeJS.Signals>((r) => {
        fire = r
      })
      if (signal !== null) fire(signal)
      parts.add(fire)
      return stopping(whole, partFired, () => parts.delete(fire))
    },
  }
  return stopping(whole, fired, () => {
    for (const off of handlers) off()
  })
}

type Whole = Omit<StopSignal, 'fired' | 'aborted' | 'dispose'>

function stopping(whole: Whole, fired: StopSignal['fired'], dispose: () => void): StopSignal {
  const stopped = new AbortController()
  void fired.then((name) => stopped.abort(name))
  return {
    fired,
    aborted: stopped.signal,
    get signal() {
      return whole.signal
    },
    instead: (handler) => whole.instead(handler),
    part: () => whole.part(),
    dispose,
  }
}
