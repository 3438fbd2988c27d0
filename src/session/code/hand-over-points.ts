// JDK methods that pass a task from one thread to another, and methods in which a thread accepts a task.
// Pools that exist before the session must be covered: their workers are inside runWorker(), and a running loop keeps its old code. So the
// probes are in methods that the loop calls for each task. A worker that already waits in getTask() reports its first task in
// beforeExecute(). Methods that the target's JDK lacks are skipped. If all methods of one kind are missing, the user gets a warning.

import { HAND_OVER_CLASSES, type HandOver } from '../../instrument/hand-over.ts'
import type { Task } from './instrumenter.ts'
import { type ClassBytes, type Point, tasksAt } from './points.ts'

type Place = Pick<Point, 'className' | 'name' | 'descriptor'> & {
  /** Kind of hand-over. Hand-overs of this kind cannot be followed if the JDK has no method of this kind and role. */
  readonly kind: 'pools' | 'fork/join' | 'threads' | 'virtual threads' | 'delays'
  readonly role: 'gives' | 'takes' | 'mends'
  readonly probe: HandOver
}

const POOL = 'java/util/concurrent/ThreadPoolExecutor'
const SCHEDULED_POOL = 'java/util/concurrent/ScheduledThreadPoolExecutor'
const FORK_JOIN_POOL = 'java/util/concurrent/ForkJoinPool'
const FORK_JOIN_TASK = 'java/util/concurrent/ForkJoinTask'
const DELAYS = 'java/util/concurrent/DelayScheduler'
const DELAYED = `${DELAYS}$ScheduledForkJoinTask`

const RUNNABLE = '(Ljava/lang/Runnable;)'
const FORK_JOIN = `L${FORK_JOIN_TASK};`
const SCHEDULED = '(Ljava/util/concurrent/RunnableScheduledFuture;)V'
const WORKER = `L${POOL}$Worker;`
const CONTAINER = '(Ljdk/internal/vm/ThreadContainer;)V'

const pool = (name: string, descriptor: string, role: Place['role'], probe: HandOver): Place => ({
  className: POOL,
  name,
  descriptor,
  kind: 'pools',
  role,
  probe,
})

const forkJoin = (
  className: string,
  name: string,
  descriptor: string,
  role: Place['role'],
  probe: HandOver,
): Place => ({ className, name, descriptor, kind: 'fork/join', role, probe })

/** The methods of the JDK that submit or accept tasks. */
const PLACES: readonly Place[] = [
  pool('execute', `${RUNNABLE}V`, 'gives', { entry: { tell: 'submitted', local: 1 } }),
  pool('reject', `${RUNNABLE}V`, 'mends', { entry: { tell: 'withdrawn', local: 1 } }),
  pool('remove', `${RUNNABLE}Z`, 'mends', { entry: { tell: 'withdrawn', local: 1 } }),
  pool('runWorker', `(${WORKER})V`, 'mends', { entry: { tell: 'workerStarts', local: 1 } }),
  pool('getTask', '()Ljava/lang/Runnable;', 'takes', {
    entry: { tell: 'workerIsIdle' },
    returned: 'workerTakes',
  }),
  pool('beforeExecute', '(Ljava/lang/Thread;Ljava/lang/Runnable;)V', 'mends', {
    entry: { tell: 'workerTakes', local: 2 },
  }),
  pool('processWorkerExit', `(${WORKER}Z)V`, 'mends', { entry: { tell: 'workerIsIdle' } }),
  ...['delayedExecute', 'reExecutePeriodic'].map((name) => ({
    ...pool(name, SCHEDULED, 'mends', { entry: { tell: 'submitted', local: 1 } }),
    className: SCHEDULED_POOL,
  })),

  forkJoin(FORK_JOIN_POOL, 'externalSubmit', `(${FORK_JOIN})${FORK_JOIN}`, 'gives', {
    entry: { tell: 'submittedTo', pool: 0, local: 1 },
  }),
  forkJoin(FORK_JOIN_POOL, 'poolSubmit', `(Z${FORK_JOIN})${FORK_JOIN}`, 'gives', {
    entry: { tell: 'submittedTo', pool: 0, local: 2 },
  }),
  forkJoin(FORK_JOIN_TASK, 'fork', `()${FORK_JOIN}`, 'mends', { entry: { tell: 'submitted', local: 0 } }),
  ...['()I', '()V'].map((descriptor) =>
    forkJoin(FORK_JOIN_TASK, 'doExec', descriptor, 'takes', {
      entry: { tell: 'taskEntry', local: 0 },
      exit: 'taskExit',
    }),
  ),
  {
    ...forkJoin(DELAYS, 'pend', `(L${DELAYED};)V`, 'mends', { entry: { tell: 'delayed', local: 1 } }),
    kind: 'delays',
  },
  {
    ...forkJoin(DELAYED, 'cancel', '(Z)Z', 'mends', { entry: { tell: 'withdrawn', local: 0 } }),
    kind: 'delays',
  },

  ...[
    ['java/lang/Thread', 'start', '()V', 'threads'] as const,
    ['java/lang/Thread', 'start', CONTAINER, 'threads'] as const,
    ['java/lang/VirtualThread', 'start', CONTAINER, 'virtual threads'] as const,
  ].map(([className, name, descriptor, kind]): Place => {
    const probe = { entry: { tell: 'threadStarts', local: 0 } } as const
    return { className, name, descriptor, kind, role: 'gives', probe }
  }),
  {
    className: 'java/lang/Thread',
    name: 'exit',
    descriptor: '()V',
    kind: 'threads',
    role: 'takes',
    probe: { entry: { tell: 'threadEnds' } },
  },
]

/** Names of the classes that must be loaded before their methods can be instrumented. */
export const FOLLOWED_CLASSES: readonly string[] = [...HAND_OVER_CLASSES].map((name) =>
  name.replaceAll('/', '.'),
)

/**
 * Returns the probes that are possible in this target, and the kinds of hand-over that this JDK implements in an unknown way. The
 * parameters are explained at `tasksAt`.
 */
export async function handOverTasks(
  classIds: ReadonlyMap<string, number>,
  classBytes: ClassBytes,
): Promise<{ readonly tasks: Task[]; readonly unknown: string[] }> {
  const points = PLACES.map(({ className, name, descriptor, probe: handOver }): Point => {
    return { className, name, descriptor, probe: 'hand-over', handOver }
  })
  const tasks = await tasksAt(points, classIds, classBytes)
  const present = PLACES.filter(({ probe }) => tasks.some(({ handOver }) => handOver === probe))
  const has = (kind: Place['kind'], role: Place['role']) =>
    present.some((p) => p.kind === kind && p.role === role)
  const unknown: string[] = (['pools', 'fork/join', 'threads'] as const).filter(
    (kind) => !has(kind, 'gives') || !has(kind, 'takes'),
  )
  const hasVirtual = classIds.has('java/lang/VirtualThread')
  if (hasVirtual && !has('virtual threads', 'gives')) unknown.push('virtual threads')
  return { tasks, unknown }
}
