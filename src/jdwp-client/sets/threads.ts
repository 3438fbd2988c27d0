// Command sets 11 and 12, ThreadReference and ThreadGroupReference.

import { nothing } from '../asker.ts'
import { namesOf, SUSPEND_STATUS_SUSPENDED, THREAD_STATUSES, type ThreadStatus } from '../constants.ts'
import type { DataReader, DataWriter } from '../data.ts'
import { MalformedJdwp } from '../errors.ts'
import type { FrameId, ObjectId, ThreadGroupId, ThreadId } from '../ids.ts'
import * as values from '../values.ts'
import { boolean, CommandSet, int, listOf, object, objectOrNull, ofObject, string } from './command-set.ts'

export interface Frame {
  /** Valid while the thread stays suspended. */
  readonly id: FrameId
  readonly location: values.Location
}

export interface OwnedMonitor {
  readonly monitor: values.ObjectValue
  /** Of the frame that has entered it, 0 at the top; -1: not known, as of JNI. */
  readonly depth: number
}

export class ThreadReference extends CommandSet {
  readonly name = this.command('ThreadReference.Name', ofObject<ThreadId>, string)

  /** Wherever it is, a lock in its hands or not. Counted: it takes as many resumes. */
  readonly suspend = this.command('ThreadReference.Suspend', ofObject<ThreadId>, nothing)

  /** Takes one suspension from it. Without effect if it has none. */
  readonly resume = this.command('ThreadReference.Resume', ofObject<ThreadId>, nothing)

  /** What it did when it ran last. NOT_STARTED is HotSpot's -1, which the specification does not name. */
  readonly status = this.command('ThreadReference.Status', ofObject<ThreadId>, readStatus)

  readonly threadGroup = this.command(
    'ThreadReference.ThreadGroup',
    ofObject<ThreadId>,
    object<ThreadGroupId>,
  )

  /** The innermost first. The thread must be suspended. `length` -1: all that are left. */
  readonly frames = this.command('ThreadReference.Frames', ofFrames, listOf(readFrame))

  /** The thread must be suspended. */
  readonly frameCount = this.command('ThreadReference.FrameCount', ofObject<ThreadId>, int)

  /** The thread must be suspended. Needs `canGetOwnedMonitorInfo`. */
  readonly ownedMonitors = this.command(
    'ThreadReference.OwnedMonitors',
    ofObject<ThreadId>,
    listOf(values.readObject),
  )

  /** What it waits to enter, or waits in. The thread must be suspended. Needs `canGetCurrentContendedMonitor`. */
  readonly currentContendedMonitor = this.command(
    'ThreadReference.CurrentContendedMonitor',
    ofObject<ThreadId>,
    values.readObjectOrNull,
  )

  /** Has it throw an instance of Throwable. HotSpot does not look: anything else crashes it (SIGSEGV on JDK 25). */
  readonly stop = this.command(
    'ThreadReference.Stop',
    (w, thread: ThreadId, throwable: ObjectId) => w.object(thread).object(throwable),
    nothing,
  )

  readonly interrupt = this.command('ThreadReference.Interrupt', ofObject<ThreadId>, nothing)

  /** How many resumes it takes. */
  readonly suspendCount = this.command('ThreadReference.SuspendCount', ofObject<ThreadId>, int)

  /** The thread must be suspended. Needs `canGetMonitorFrameInfo`. */
  readonly ownedMonitorsStackDepthInfo = this.command(
    'ThreadReference.OwnedMonitorsStackDepthInfo',
    ofObject<ThreadId>,
    listOf((r): OwnedMonitor => ({ monitor: values.readObject(r), depth: r.int() })),
  )

  /** Its innermost method returns this when it goes on; no `finally` runs. Needs `canForceEarlyReturn`. */
  readonly forceEarlyReturn = this.command(
    'ThreadReference.ForceEarlyReturn',
    (w, thread: ThreadId, value: values.Value) => values.writeValue(w.object(thread), value),
    nothing,
  )

  /** JDK 19 and later; NOT_IMPLEMENTED before. */
  readonly isVirtual = this.command('ThreadReference.IsVirtual', ofObject<ThreadId>, boolean)
}

export class ThreadGroupReference extends CommandSet {
  readonly name = this.command('ThreadGroupReference.Name', ofObject<ThreadGroupId>, string)

  /** null: it is at the top. */
  readonly parent = this.command(
    'ThreadGroupReference.Parent',
    ofObject<ThreadGroupId>,
    objectOrNull<ThreadGroupId>,
  )

  /** Live platform threads and groups that are directly in it. */
  readonly children = this.command('ThreadGroupReference.Children', ofObject<ThreadGroupId>, readChildren)
}

function ofFrames(w: DataWriter, thread: ThreadId, start = 0, length = -1): DataWriter {
  return w.object(thread).int(start).int(length)
}

function readFrame(r: DataReader): Frame {
  return { id: r.id('frame'), location: values.readLocation(r) }
}

function readChildren(r: DataReader): {
  readonly threads: readonly ThreadId[]
  readonly groups: readonly ThreadGroupId[]
} {
  return { threads: r.list(() => r.object<ThreadId>()), groups: r.list(() => r.object<ThreadGroupId>()) }
}

const STATUS_NAMES = namesOf(THREAD_STATUSES)
/** threadControl.c, map2jdwpThreadStatus: neither alive nor ended. */
const NOT_STARTED = -1

function readStatus(r: DataReader): {
  readonly status: ThreadStatus | 'NOT_STARTED'
  readonly suspended: boolean
} {
  const code = r.int()
  const status = code === NOT_STARTED ? 'NOT_STARTED' : STATUS_NAMES.get(code)
  if (status === undefined) throw new MalformedJdwp(`a thread's status is ${code}`)
  return { status, suspended: (r.int() & SUSPEND_STATUS_SUSPENDED) !== 0 }
}
