// Invocation of a method in a thread of the JVM, common to ClassType, InterfaceType and ObjectReference.
//
// The thread must be suspended by an event; a thread suspended by a command is refused. The reply arrives when
// the method returns, which may be never; at the timeout the connection ends (JdwpSilent). While the method runs, all other threads run. Afterwards all threads are
// suspended, including those that ran before, until VirtualMachine.Resume. With `singleThreaded` other threads are unchanged.

import type { AskOptions } from '../asker.ts'
import { INVOKE_NONVIRTUAL, INVOKE_SINGLE_THREADED } from '../constants.ts'
import type { DataReader, DataWriter } from '../data.ts'
import type { MethodId, ThreadId } from '../ids.ts'
import { readObjectOrNull, readValue, type TaggedObject, type Value, writeValue } from '../values.ts'

export interface InvokeOptions extends AskOptions {
  /** Other threads stay suspended. If the method needs a lock that a suspended thread holds, the method waits forever. */
  readonly singleThreaded?: boolean
  /** Invokes exactly the named method, not an override. For instance methods. */
  readonly nonvirtual?: boolean
}

/** Result of the method: `value` if `exception` is null. */
export interface Invoked {
  readonly value: Value
  readonly exception: TaggedObject | null
}

export interface Invocation {
  readonly thread: ThreadId
  readonly method: MethodId
  /** Arguments. Primitive values must have exactly the declared type. */
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
