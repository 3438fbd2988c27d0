// What methods are called, told to the target: a profiler of the user's asks for it, and threads that look at their
// own stacks know methods by it.

import type { SiteNumbers } from '../../instrument/sites.ts'
import type { Agent } from '../../wire/agent.ts'
import type { SessionOptions } from '../session-options.ts'
import { sourceName, type TargetClasses } from '../target-classes.ts'
import { type Instrumenter, isTimed, type Task } from './instrumenter.ts'

export interface NamedFor {
  readonly options: SessionOptions
  readonly agent: Agent
  readonly instrumenter: Instrumenter
  readonly classes: TargetClasses
  /** Null unless call sites are told. */
  readonly sites: SiteNumbers | null
}

/** Before these go in. */
export function nameInTarget(tasks: readonly Task[], session: NamedFor): void {
  const { profiler, sampling } = session.options
  const samplesTime = sampling?.unit === 'ns'
  if (profiler === undefined && !samplesTime) return
  const timed = tasks.filter(isTimed)
  const names = timed.map(({ id, classId, className, name, descriptor, probe }) => ({
    ...{ id, name, descriptor, isRoot: probe === 'root' },
    className: sourceName(className),
    loader: session.classes.loaderOf(classId),
  }))
  if (profiler !== undefined) session.agent.names(names)
  if (samplesTime) {
    const calls = timed.map((task) => callsOf(task, session))
    session.agent.frames(names.map((name, i) => ({ ...name, calls: calls[i]! })))
  }
}

/** Bytecode indices of calls in the code that is about to be installed, in order, with their numbers. */
function callsOf(
  { id, classId, name, descriptor }: Task,
  { instrumenter, sites }: NamedFor,
): [bci: number, site: number][] {
  const numbers = sites?.known(id)
  const moved = instrumenter.movedCalls(classId, name + descriptor)
  if (numbers === undefined || moved === undefined) return []
  return [...moved]
    .flatMap(([now, before]): [number, number][] => {
      const site = numbers.get(before)
      return site === undefined ? [] : [[now, site]]
    })
    .sort(([a], [b]) => a - b)
}
