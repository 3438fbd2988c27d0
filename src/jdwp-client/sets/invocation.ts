// Invocation of a method in a thread of the JVM, common to ClassType, InterfaceType and ObjectReference.
//
// The thread must be suspended by an event; the JVM refuses a thread that was suspended by a command. The reply arrives when
// the method returns. If the method does not return within the timeout, the connection ends (JdwpSilent). While the method runs, all other
// threads run. When it returns, the JVM suspends all threads, including threads that ran before, until VirtualMachine.Resume.
// With `singleThreaded`, the JVM neither resumes nor suspends other threads.

import type { AskOptions } from '../asker.ts'
import { INVOKE_NONVIRTUAL, INVOKE_SINGLE_THREADED } from '../constants.ts'
import type { DataReader, DataWriter } from '../data.ts'
import type { MethodId, ThreadId } from '../ids.ts'
import { readObjectOrNull, readValue, type TaggedObject, type Value, writeValue } from '../values.ts'

export interface InvokeOptions extends AskOptions {
  /** Other threads stay suspended. If the method needs a lock that a suspended thread holds, the method waits forever. */
  readonly singleThreaded?: boolean
  /** Invokes exactly the named method, not an override in a subclass. Only for instance methods. */
  readonly nonvirtual?: boolean
}

/** Result of the invocation. `value` is valid only if `exception` is null. */
export interface Invoked {
  readonly value: Value
  readonly exception: TaggedObject | null
}

export interface Invocation {
  readonly thread: ThreadId
  readonly method: MethodId
  /** Arguments of the method. A primitive value must have exactly the declared type. */
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
