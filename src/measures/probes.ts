// Probes of each measure, and requests that are sent to the agent before the probes are installed.

import type { Recipe } from '../instrument/class.ts'
import type { Profile } from '../profile/profile.ts'
import type { SessionOptions, SessionRequest } from '../session/session-options.ts'
import type { Agent } from '../wire/agent.ts'
import { allocation } from './allocation/probes.ts'
import { bytecodes } from './bytecodes/probes.ts'
import type { Mode } from './columns.ts'
import { count } from './count/probes.ts'
import { locks } from './locks/probes.ts'
import { samples } from './samples/probes.ts'
import { time } from './time/probes.ts'

export interface Probes {
  /** Returns the recipe of the probes. @param feature  feature version of the target's JDK, such as 17 */
  recipe(options: SessionOptions, feature: number): Recipe
  /** Intrinsics of the JDK that get probes nevertheless. The JVM must run their bytecode, since the intrinsic code contains no probes. */
  readonly intrinsics?: ReadonlySet<string>
  /** Sends requests to the agent before the first probes are installed. */
  begin?(agent: Agent, options: SessionRequest): Promise<void>
  /** Returns the profile fields that describe how the measure was taken. */
  facts?(options: SessionOptions): Partial<Profile>
}

export const PROBES: Readonly<Record<Mode, Probes>> = {
  exact: time,
  locks,
  bytecodes,
  count,
  alloc: allocation,
  sample: samples,
}
