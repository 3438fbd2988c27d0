// Command sets 11 and 12, ThreadReference and ThreadGroupReference.

import { nothing } from '../asker.ts'
import { namesOf, SUSPEND_STATUS_SUSPENDED, THREAD_STATUSES, type ThreadStatus } from '../constants.ts'
import type { DataReader, DataWriter } from '../data.ts'
import { MalformedJdwp } from '../errors.ts'
import type { FrameId, ObjectId, ThreadGroupId, ThreadId } from '../ids.ts'
import * as values from '../values.ts'
import { boolean, CommandSet, int, listOf, object, objectOrNull, ofObject, string } from './command-set.ts'

export interface Frame {
  /** Id of the frame, valid while the thread stays suspended. */
  readonly id: FrameId
  readonly location: values.Location
}

export interface OwnedMonitor {
  readonly monitor: values.ObjectValue
  /** Depth of the frame that entered the monitor; 0 is the innermost frame. -1 if the frame is unknown, for example if JNI code entered. */
  readonly depth: number
}

export class ThreadReference extends CommandSet {
  readonly name = this.command('ThreadReference.Name', ofObject<ThreadId>, string)

  /** Suspends the thread at its current position, even if it holds locks. Suspensions are counted: each needs a resume. */
  readonly suspend = this.command('ThreadReference.Suspend', ofObject<ThreadId>, nothing)

  /** Removes one suspension of the thread. No effect if the thread is not suspended. */
  readonly resume = this.command('ThreadReference.Resume', ofObject<ThreadId>, nothing)

  /** Returns the state of the thread when it last ran. NOT_STARTED is HotSpot's value -1, which has no name in the specification. */
  readonly status = this.command('ThreadReference.Status', ofObject<ThreadId>, readStatus)

  readonly threadGroup = this.command(
    'ThreadReference.ThreadGroup',
    ofObject<ThreadId>,
    object<ThreadGroupId>,
  )

  /** Returns frames, innermost first. The thread must be suspended. With `length` -1, returns all frames from `start` on. */
  readonly frames = this.command('ThreadReference.Frames', ofFrames, listOf(readFrame))

  /** Returns the number of frames. The thread must be suspended. */
  readonly frameCount = this.command('ThreadReference.FrameCount', ofObject<ThreadId>, int)

  /** Returns monitors owned by the thread. The thread must be suspended. Needs `canGetOwnedMonitorInfo`. */
  readonly ownedMonitors = this.command(
    'ThreadReference.OwnedMonitors',
    ofObject<ThreadId>,
    listOf(values.readObject),
  )

  /** Returns the monitor that a suspended thread waits to enter or waits on. Needs `canGetCurrentContendedMonitor`. */
  readonly currentContendedMonitor = this.command(
    'ThreadReference.CurrentContendedMonitor',
    ofObject<ThreadId>,
    values.readObjectOrNull,
  )

  /** Makes the thread throw an instance of Throwable. HotSpot does not check the type: any other object crashes it (SIGSEGV on JDK 25). */
  readonly stop = this.command(
    'ThreadReference.Stop',
    (w, thread: ThreadId, throwable: ObjectId) => w.object(thread).object(throwable),
    nothing,
  )

  readonly interrupt = this.command('ThreadReference.Interrupt', ofObject<ThreadId>, nothing)

  /** Returns how many times the thread is suspended. */
  readonly suspendCount = this.command('ThreadReference.SuspendCount', ofObject<ThreadId>, int)

  /** Returns owned monitors with the depth of the frame that entered. The thread must be suspended. Needs `canGetMonitorFrameInfo`. */
  readonly ownedMonitorsStackDepthInfo = this.command(
    'ThreadReference.OwnedMonitorsStackDepthInfo',
    ofObject<ThreadId>,
    listOf((r): OwnedMonitor => ({ monitor: values.readObject(r), depth: r.int() })),
  )

  /** Makes the innermost method return this value when the thread continues; no `finally` runs. Needs `canForceEarlyReturn`. */
  readonly forceEarlyReturn = this.command(
    'ThreadReference.ForceEarlyReturn',
    (w, thread: ThreadId, value: values.Value) => values.writeValue(w.object(thread), value),
    nothing,
  )

  /** Returns whether the thread is virtual. JDK 19 and later; NOT_IMPLEMENTED before. */
  readonly isVirtual = this.command('ThreadReference.IsVirtual', ofObject<ThreadId>, boolean)
}

export class ThreadGroupReference extends CommandSet {
  readonly name = this.command('ThreadGroupReference.Name', ofObject<ThreadGroupId>, string)

  /** Returns the parent group; null for a top-level group. */
  readonly parent = this.command(
    'ThreadGroupReference.Parent',
    ofObject<ThreadGroupId>,
    objectOrNull<ThreadGroupId>,
  )

  /** Returns the live platform threads and the groups that are directly in this group. */
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
/** Status of a thread that is neither alive nor ended (map2jdwpThreadStatus in HotSpot's threadControl.c). */
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
