// Session behavior and probes of all measures.

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
  /** JDK methods with JIT intrinsics that are instrumented. Their own bytecode must run with probes, so that they can be measured. */
  readonly intrinsics?: ReadonlySet<string>
  /** Sends requests to the agent before there are probes. */
  begin?(agent: Agent, options: SessionRequest): Promise<void>
  /** Returns facts for the profile about the method of measurement. */
  facts?(options: SessionOptions): Partial<Profile>
}

export const PROBES: Readonly<Record<Mode, Probes>> = {
  exact: time,
  ...{ locks, bytecodes, count },
  alloc: allocation,
  sample: samples,
}
