// What methods are called, told to the target: a profiler of the user's asks for it.

import type { Agent } from '../../wire/agent.ts'
import type { SessionOptions } from '../session-options.ts'
import { sourceName } from '../target-classes.ts'
import { isTimed, type Task } from './instrumenter.ts'

export interface NamedFor {
  readonly options: SessionOptions
  readonly agent: Agent
}

/** Before these go in. */
export function nameInTarget(tasks: readonly Task[], { options, agent }: NamedFor): void {
  if (options.profiler === undefined) return
  const named = tasks.filter(isTimed)
  agent.names(
    named.map(({ id, className, name, descriptor }) => ({
      ...{ id, name, descriptor },
      className: sourceName(className),
    })),
  )
}
