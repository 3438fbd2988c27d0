// Ctrl-C and friends mean "leave properly": the target gets its code back before we go.

import { constants } from 'node:os'

const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']

export interface StopSignal {
  /** Resolves when the user or the system asks us to stop. */
  readonly fired: Promise<NodeJS.Signals>
  /** The same now: null if nobody has asked. */
  readonly signal: NodeJS.Signals | null
  /** What the next signal does, once, in place of all else; null for nothing. */
  instead(handler: (() => void) | null): void
  dispose(): void
}

/** The exit status that shells give to a process which a signal has ended. */
export function signalStatus(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/**
 * What was to be done is done, and the exit status is known in a moment: a signal that comes now ends us with that
 * status, instead of as if nothing had been kept. For good; before the handlers of the command go.
 */
export function keepStatus(): void {
  for (const name of ENDING) process.on(name, () => process.exit())
  // Node.js that runs out of work takes its handlers back first, and is ended by a signal for some milliseconds more.
  process.on('beforeExit', () => process.exit())
}

/** Those that are meant for us: under `run`, SIGQUIT is the JVM's, which shows its threads. Asked before a screen listens. */
export function endingSignals(): readonly NodeJS.Signals[] {
  const isQuitTaken = process.listenerCount('SIGQUIT') > 0
  return ENDING.filter((name) => name !== 'SIGQUIT' || !isQuitTaken)
}

export function stopSignal(names = endingSignals()): StopSignal {
  let signal: NodeJS.Signals | null = null
  let resolve: (signal: NodeJS.Signals) => void = () => {}
  const fired = new Promise<NodeJS.Signals>((r) => {
    resolve = r
  })
  let instead: (() => void) | null = null
  const handlers = names.map((name) => {
    let again = false
    const handler = (): void => {
      if (instead !== null) {
        instead()
        instead = null
        return
      }
      // Whoever asks twice wants out at once; the agent leaves the target by itself then. A closed
      // terminal may send SIGHUP more than once without meaning anything by it.
      if (again && name !== 'SIGHUP') process.exit(signalStatus(name))
      again = true
      signal ??= name
      resolve(name)
    }
    process.on(name, handler)
    return () => process.off(name, handler)
  })
  return {
    fired,
    get signal() {
      return signal
    },
    instead: (handler) => {
      instead = handler
    },
    dispose: () => {
      for (const off of handlers) off()
    },
  }
}
