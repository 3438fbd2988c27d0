// What a session does for each measure, and what its probes tell.

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
  /** @param feature  version of the target's JDK */
  recipe(options: SessionOptions, feature: number): Recipe
  /** Methods of the JDK that the compilers replace, and whose own code must have probes to be known. */
  readonly intrinsics?: ReadonlySet<string>
  /** What the agent is asked before there are probes. */
  begin?(agent: Agent, options: SessionRequest): Promise<void>
  /** What a profile says of how it was measured. */
  facts?(options: SessionOptions): Partial<Profile>
}

export const PROBES: Readonly<Record<Mode, Probes>> = {
  exact: time,
  ...{ locks, bytecodes, count },
  alloc: allocation,
  sample: samples,
}
