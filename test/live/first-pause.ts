// Scheme adaptive adds no probes below the roots if its first redefinition took much longer than predicted. On a busy machine that
// happens to any JVM: its threads wait for a processor.

import type { Session } from '../../src/session/session.ts'

/** Makes the session assume that its first redefinition took as long as predicted. Call it before samples of the roots can be enough. */
export function asPredicted({ engine }: Session): void {
  const [first, ...others] = engine.arming?.pauses ?? []
  if (first === undefined || others.length > 0) throw new Error('not after the first redefinition')
  engine.arming!.pauses[0] = { ...first, measuredMs: first.predictedMs }
}
