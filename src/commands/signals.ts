// Ctrl-C and friends mean "leave properly": the target gets its code back before we go.

export interface StopSignal {
  /** Resolves with a sentence when the user or the system asks us to stop. */
  readonly fired: Promise<string>
  dispose(): void
}

export function stopSignal(): StopSignal {
  let resolve: (why: string) => void = () => {}
  const fired = new Promise<string>((r) => {
    resolve = r
  })
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => {
    let again = false
    const handler = (): void => {
      // Whoever asks twice wants out at once; the agent leaves the target by itself then.
      if (again) process.exit(130)
      again = true
      resolve(`${name} was received`)
    }
    process.on(name, handler)
    return () => process.off(name, handler)
  })
  return {
    fired,
    dispose: () => {
      for (const off of handlers) off()
    },
  }
}
