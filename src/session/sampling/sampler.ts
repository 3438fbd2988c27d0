// Interface between a sampling session and the sampler of a whole JVM.

import type { Sampling } from '../../profile/profile.ts'

export interface Sampler {
  /**
   * Starts sampling. If the call throws, the target is unchanged.
   * @param signal  if it is aborted, the call throws the signal's reason as soon as the target allows it
   */
  start(signal?: AbortSignal): Promise<void>
  /**
   * Adds the new samples to the tree. Called several times a second.
   * @throws JfluidError if sampling has failed; no further samples follow
   */
  poll(): Promise<void>
  /**
   * Ends sampling in the target and adds the remaining samples.
   * @param lives whether the target still runs
   */
  stop(lives: boolean): Promise<void>
  /** From now on, sampling costs the target no more than usual. */
  slowDown?(): void
  /** Returns facts about the sampling that become known only while it runs. */
  facts?(): Partial<Sampling>
  /** Returns warnings for the reader of the profile. */
  warnings?(): string[]
}

/** Removes the address from the name of a lambda or other hidden class: `Main$$Lambda/0x00007f…`. The address differs in each run. */
export function withoutAddress(className: string): string {
  return className.replace(/[./+]0x[0-9a-f]+(?:\.\d+)?$/, '')
}
