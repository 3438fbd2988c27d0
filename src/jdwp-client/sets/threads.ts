// Command sets 11 and 12, ThreadReference and ThreadGroupReference.

import { type Asker, nothing } from '../asker.ts'
import { namesOf, SUSPEND_STATUS_SUSPENDED, THREAD_STATUSES, type ThreadStatus } from '../constants.ts'
import type { DataReader, DataWriter } from '../data.ts'
import { MalformedJdwp, type Result } from '../errors.ts'
import type { FrameId, ObjectId, ThreadGroupId, ThreadId } from '../ids.ts'
import {
  type Location,
  type ObjectValue,
  readLocation,
  readObject,
  readObjectOrNull,
  type TaggedObject,
  type Value,
  writeValue,
} from '../values.ts'

export interface Frame {
  /** Valid while the thread stays suspended. */
  readonly id: FrameId
  readonly location: Location
}

export interface OwnedMonitor {
  readonly monitor: ObjectValue
  /** Of the frame that has entered it, 0 at the top; -1: not known, as of JNI. */
  readonly depth: number
}

export class ThreadReference {
  constructor(private readonly asker: Asker) {}

  name(thread: ThreadId): Promise<Result<string>> {
    return this.asker.ask('ThreadReference.Name', of(thread), (r) => r.string())
  }

  /** Wherever it is, a lock in its hands or not. Counted: it takes as many resumes. */
  suspend(thread: ThreadId): Promise<Result<void>> {
    return this.asker.ask('ThreadReference.Suspend', of(thread), nothing)
  }

  /** Takes one suspension from it. Without effect if it has none. */
  resume(thread: ThreadId): Promise<Result<void>> {
    return this.asker.ask('ThreadReference.Resume', of(thread), nothing)
  }

  /** What it did when it ran last. NOT_STARTED is HotSpot's -1, which the specification does not name. */
  status(
    thread: ThreadId,
  ): Promise<Result<{ readonly status: ThreadStatus | 'NOT_STARTED'; readonly suspended: boolean }>> {
    return this.asker.ask('ThreadReference.Status', of(thread), (r) => ({
      status: readStatus(r),
      suspended: (r.int() & SUSPEND_STATUS_SUSPENDED) !== 0,
    }))
  }

  threadGroup(thread: ThreadId): Promise<Result<ThreadGroupId>> {
    return this.asker.ask('ThreadReference.ThreadGroup', of(thread), (r) => r.object<ThreadGroupId>())
  }

  /** The innermost first. The thread must be suspended. @param length  -1: all that are left */
  frames(thread: ThreadId, start = 0, length = -1): Promise<Result<Frame[]>> {
    return this.asker.ask(
      'ThreadReference.Frames',
      (w) => w.object(thread).int(start).int(length),
      (r) => r.list(() => ({ id: r.id('frame'), location: readLocation(r) })),
    )
  }

  /** The thread must be suspended. */
  frameCount(thread: ThreadId): Promise<Result<number>> {
    return this.asker.ask('ThreadReference.FrameCount', of(thread), (r) => r.int())
  }

  /** The thread must be suspended. Needs `canGetOwnedMonitorInfo`. */
  ownedMonitors(thread: ThreadId): Promise<Result<ObjectValue[]>> {
    return this.asker.ask('ThreadReference.OwnedMonitors', of(thread), (r) => r.list(() => readObject(r)))
  }

  /** What it waits to enter, or waits in. The thread must be suspended. Needs `canGetCurrentContendedMonitor`. */
  currentContendedMonitor(thread: ThreadId): Promise<Result<TaggedObject | null>> {
    return this.asker.ask('ThreadReference.CurrentContendedMonitor', of(thread), readObjectOrNull)
  }

  /**
   * Has it throw.
   *
   * @param throwable  an instance of Throwable. HotSpot does not look: anything else crashes it (SIGSEGV on JDK 25)
   */
  stop(thread: ThreadId, throwable: ObjectId): Promise<Result<void>> {
    return this.asker.ask('ThreadReference.Stop', (w) => w.object(thread).object(throwable), nothing)
  }

  interrupt(thread: ThreadId): Promise<Result<void>> {
    return this.asker.ask('ThreadReference.Interrupt', of(thread), nothing)
  }

  /** How many resumes it takes. */
  suspendCount(thread: ThreadId): Promise<Result<number>> {
    return this.asker.ask('ThreadReference.SuspendCount', of(thread), (r) => r.int())
  }

  /** The thread must be suspended. Needs `canGetMonitorFrameInfo`. */
  ownedMonitorsStackDepthInfo(thread: ThreadId): Promise<Result<OwnedMonitor[]>> {
    return this.asker.ask('ThreadReference.OwnedMonitorsStackDepthInfo', of(thread), (r) =>
      r.list(() => ({ monitor: readObject(r), depth: r.int() })),
    )
  }

  /** Its innermost method returns this when it goes on; no `finally` runs. Needs `canForceEarlyReturn`. */
  forceEarlyReturn(thread: ThreadId, value: Value): Promise<Result<void>> {
    return this.asker.ask(
      'ThreadReference.ForceEarlyReturn',
      (w) => writeValue(w.object(thread), value),
      nothing,
    )
  }

  /** JDK 19 and later; NOT_IMPLEMENTED before. */
  isVirtual(thread: ThreadId): Promise<Result<boolean>> {
    return this.asker.ask('ThreadReference.IsVirtual', of(thread), (r) => r.boolean())
  }
}

export class ThreadGroupReference {
  constructor(private readonly asker: Asker) {}

  name(group: ThreadGroupId): Promise<Result<string>> {
    return this.asker.ask('ThreadGroupReference.Name', of(group), (r) => r.string())
  }

  /** null: it is at the top. */
  parent(group: ThreadGroupId): Promise<Result<ThreadGroupId | null>> {
    return this.asker.ask('ThreadGroupReference.Parent', of(group), (r) => r.objectOrNull<ThreadGroupId>())
  }

  /** Live platform threads and groups that are directly in it. */
  children(
    group: ThreadGroupId,
  ): Promise<Result<{ readonly threads: readonly ThreadId[]; readonly groups: readonly ThreadGroupId[] }>> {
    return this.asker.ask('ThreadGroupReference.Children', of(group), (r) => ({
      threads: r.list(() => r.object<ThreadId>()),
      groups: r.list(() => r.object<ThreadGroupId>()),
    }))
  }
}

const of = (object: ObjectId) => (w: DataWriter) => w.object(object)

const STATUS_NAMES = namesOf(THREAD_STATUSES)
/** threadControl.c, map2jdwpThreadStatus: neither alive nor ended. */
const NOT_STARTED = -1

function readStatus(r: DataReader): ThreadStatus | 'NOT_STARTED' {
  const code = r.int()
  if (code === NOT_STARTED) return 'NOT_STARTED'
  const name = STATUS_NAMES.get(code)
  if (name === undefined) throw new MalformedJdwp(`a thread's status is ${code}`)
  return name
}
