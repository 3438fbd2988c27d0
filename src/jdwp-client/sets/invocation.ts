// Invoking a method in a thread of the JVM: what ClassType, InterfaceType and ObjectReference have in common.
//
// The thread must have been suspended by an event; a thread that was suspended by command is refused. The reply comes when
// the method has returned, which may be never; if it is not waited for any longer, the connection ends (JdwpSilent). While the method runs, all other threads run too. Afterwards all of them are
// suspended, those too that were running before: VirtualMachine.Resume ends that. `singleThreaded` leaves them as they are.

import type { AskOptions } from '../asker.ts'
import { INVOKE_NONVIRTUAL, INVOKE_SINGLE_THREADED } from '../constants.ts'
import type { DataReader, DataWriter } from '../data.ts'
import type { MethodId, ThreadId } from '../ids.ts'
import { readObjectOrNull, readValue, type TaggedObject, type Value, writeValue } from '../values.ts'

export interface InvokeOptions extends AskOptions {
  /** Other threads stay suspended: a lock that one of them holds is waited for without end. */
  readonly singleThreaded?: boolean
  /** The very method that was named, not one that overrides it. For instance methods. */
  readonly nonvirtual?: boolean
}

/** How the method ended: if `exception` is null, by returning `value`. */
export interface Invoked {
  readonly value: Value
  readonly exception: TaggedObject | null
}

export interface Invocation {
  readonly thread: ThreadId
  readonly method: MethodId
  /** Primitive ones exactly as the method declares them. */
  readonly arguments?: readonly Value[]
}

export function writeArguments(
  w: DataWriter,
  { arguments: all = [] }: Invocation,
  options: InvokeOptions,
): void {
  w.list(all, (value) => writeValue(w, value))
  w.int((options.singleThreaded ? INVOKE_SINGLE_THREADED : 0) | (options.nonvirtual ? INVOKE_NONVIRTUAL : 0))
}

export function readInvoked(r: DataReader): Invoked {
  return { value: readValue(r), exception: readObjectOrNull(r) }
}
