// What a session needs of whoever takes samples of a whole JVM.

import type { Sampling } from '../../profile/profile.ts'

export interface Sampler {
  /**
   * Begins; the target is as it was if this throws.
   *
   * @param signal  once it is aborted, this throws why, as soon as the target allows
   */
  start(signal?: AbortSignal): Promise<void>
  /**
   * Brings what has been sampled since the last time into the tree. Called several times a second.
   *
   * @throws JfluidError, and then there will be no more
   */
  poll(): Promise<void>
  /**
   * Ends sampling in the target and brings the rest.
   *
   * @param lives whether the target can be asked
   */
  stop(lives: boolean): Promise<void>
  /** What is known of how samples are taken only while they are. */
  facts?(): Partial<Sampling>
  /** What a reader of the profile should know by now. */
  warnings?(): string[]
}

/** Lambdas and other hidden classes have an address in their name, another in each run: `Main$$Lambda/0x00007f…`. */
export function withoutAddress(className: string): string {
  return className.replace(/[./+]0x[0-9a-f]+(?:\.\d+)?$/, '')
}
