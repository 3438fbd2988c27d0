// Two sessions of the installed jfluid with fix.Ticker: the first loads the agent, the second wakes it.

import { expect } from 'vitest'

/** Returns lines of a shell script (`sh -e`), which write /tmp/p.jfluid. */
export function twoSessions(jfluid: string, target: string): string {
  const record = `${jfluid} record ${target} --root fix.Ticker.work --duration 200ms --out /tmp/p.jfluid`
  return `${record}\n${record}`
}

/** Fails unless both sessions have ended and a detach was verified. On a busy machine, one may not be: the JVM answers too late. */
export function expectDetached(said: string): void {
  expect(said.match(/ restored: /g), said).toHaveLength(2)
  expect(said).toContain('nothing of jfluid remains')
}
