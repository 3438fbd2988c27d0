// JDK methods in which threads wait: Object.wait, Thread.sleep, and LockSupport, which the locks, queues and futures of
// java.util.concurrent use. Waits are recorded for all callers, even if the JDK is not profiled. Also defines the names of wait rows.
// Up to JDK 18, Object.wait(long) and Thread.sleep(long) are native. Their callers in the JDK are in this list, and other callers get
// probes around the call (instrument/waits.ts).

import { SINCE } from '../../base/jdk-releases.ts'
import type { MethodName } from '../../cct/tree.ts'
import { BLOCKED_OTHER, WAIT_PARKED, WAIT_SLEEPING } from '../../events/wait-ids.ts'
import { WAIT_KINDS, type WaitingMethod, type WaitRecipe } from '../../instrument/waits.ts'
import type { Task } from './instrumenter.ts'
import { type ClassBytes, type Point, tasksAt } from './points.ts'

const OBJECT = 'java/lang/Object'
const THREAD = 'java/lang/Thread'
const LOCK_SUPPORT = 'java/util/concurrent/locks/LockSupport'

function points(
  className: string,
  wait: WaitingMethod,
  ...methods: readonly (readonly [name: string, descriptor: string])[]
): Point[] {
  return methods.map(([name, descriptor]) => ({ className, name, descriptor, probe: 'wait', wait }))
}

/** The methods of the JDK in which threads wait. If one of these methods calls another, only the calling method is recorded. */
const POINTS: readonly Point[] = [
  ...points(OBJECT, { kind: 'waiting', on: true }, ['wait', '()V'], ['wait', '(J)V'], ['wait', '(JI)V']),
  ...points(
    LOCK_SUPPORT,
    { kind: 'parked', on: true },
    ['park', '(Ljava/lang/Object;)V'],
    ['parkNanos', '(Ljava/lang/Object;J)V'],
    ['parkUntil', '(Ljava/lang/Object;J)V'],
  ),
  ...points(
    LOCK_SUPPORT,
    { kind: 'parked', on: false },
    ['park', '()V'],
    ['parkNanos', '(J)V'],
    ['parkUntil', '(J)V'],
  ),
  ...points(
    THREAD,
    { kind: 'sleeping', on: false },
    ['sleep', '(J)V'],
    ['sleep', '(JI)V'],
    ['sleep', '(Ljava/time/Duration;)V'],
  ),
]

/** Probes of Thread.join. They are for JDK 11 to 18 only, where the call of wait(long) in Thread.join has no probes. */
const JOIN = points(THREAD, { kind: 'waiting', on: true }, ['join', '(J)V'])

export function waitRecipe(feature: number, jdk: boolean): WaitRecipe {
  return { nativeWaits: feature < SINCE.JAVA_WAITS, jdk }
}

/** Returns the probes that are possible in this target, and the kinds of waiting that it lacks. `tasksAt` explains the parameters. */
export async function waitTasks(
  classIds: ReadonlyMap<string, number>,
  classBytes: ClassBytes,
  { nativeWaits }: WaitRecipe,
): Promise<{ readonly tasks: Task[]; readonly unknown: string[] }> {
  const tasks = await tasksAt(nativeWaits ? [...POINTS, ...JOIN] : POINTS, classIds, classBytes)
  const kinds = ['waiting', 'parked', 'sleeping'] as const
  return { tasks, unknown: kinds.filter((kind) => !tasks.some(({ wait }) => wait?.kind === kind)) }
}

/** Class of an object that a thread waited for, as the agent reports it. */
export interface WaitedClass {
  readonly kind: number
  readonly itself: boolean
  readonly className: string
}

/** Returns the name of a wait row: the class of the awaited object, and a method name in parentheses that describes the wait. */
export function waitName(id: number, known: WaitedClass | undefined): MethodName {
  const named = (method: string, className = ''): MethodName => ({
    ...{ class: className, method: `(${method})`, descriptor: '' },
    loader: '',
  })
  if (known !== undefined) {
    const verb = Object.entries(WAIT_KINDS).find(([, kind]) => kind === known.kind)?.[0] ?? 'waiting'
    return named(`${verb} on${known.itself ? ' class' : ''}`, known.className)
  }
  if (id === WAIT_SLEEPING) return named('sleeping')
  if (id === WAIT_PARKED) return named('parked')
  return named(id < BLOCKED_OTHER ? 'waiting' : 'blocked')
}
