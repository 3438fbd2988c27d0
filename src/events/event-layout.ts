// An event is one 64-bit word, never zero:
//
//    63 62 61                 40 39                                  0
//   +-----+---------------------+-------------------------------------+
//   |kind |       method        |   session ticks, low 40 bits        |
//   +-----+---------------------+-------------------------------------+
//
// ENTER and EXIT of a method. CATCH: an exception handler of the method has caught an exception. The thread is in that method again, and
// every frame above the method's nearest frame is gone. CATCH is kind 0; method ids begin at 1, so neither the word nor its high half is
// ever zero.
//
// Session ticks count from the session's start. 40 bits are 18 minutes of nanoseconds, or 7 minutes of a counter at 2.6 GHz. When they
// wrap, the thread writes EPOCH first. 22 bits of method id allow 4 million methods.
//
// Control events carry a code in the method field and a payload in the low 40 bits:
//
//   EPOCH    session ticks >>> 40 for the following events of this writer
//   THREAD   thread number (bits 0-23) and segment (bits 24-39): the following events belong to this thread. A carrier thread writes it
//            for the virtual thread that it runs, even if that thread was the writer's latest thread but ran on another carrier in
//            between. `segment` counts the thread's segments modulo 2^16. Segment k of a thread must be read after all of segment k-1,
//            which may be in another writer's chunks. A chunk starts with its writer as the current thread (number == writer).
//   ADJUST   ticks that the thread waited for jfluid since the last event: charged to no method
//   SUSPEND  session ticks (low 40 bits): the thread's clock stops (class-load hook)
//   RESUME   session ticks (low 40 bits): the thread's clock continues
//   ROOT     no payload: the next ENTER is a root entered from outside, so this thread's simulated stack must be empty; if it is not
//            empty, it has drifted and is healed
//   SUBMIT   token: this thread submits work from its current context. A token is never reused
//   BEGIN    token: this thread begins the work, and is below the context of the SUBMIT until its next BEGIN or ROOT. Its stack must be
//            empty, as with ROOT. Must be read after the SUBMIT, which is in another writer's chunks and was visible before. Token 0 is
//            no work: the thread has ended its work
//   DROP     token: there will be no BEGIN. The work was rejected, cancelled, or done by a thread that was already inside the graph
//   OVERFLOW method id: a StackOverflowError has left this method, the first instrumented method with enough stack to record it. Follows
//            its EXIT
//   UNWIND   number of frames: this many innermost frames of the thread's last sample are gone. ENTERs of their replacements follow
//   SAMPLE   weight: the thread is in its innermost frame now. The weight is the bytecodes executed since its last sample
//   NAME     class (bits 25-39), position (bits 16-24) and one UTF-16 unit (bits 0-15) of the name of an allocated class. Each word can be
//            read without the others
//   ALLOCATED bytes that the thread allocated, by the JVM's count, in the root call that has just ended
//   TRACK    class (bits 25-39) and token: this thread has just allocated an instance of the class in its current context, and the
//            instance is tracked. A token is a slot (bits 9-24) and the number of earlier objects in that slot modulo 2^9
//   SITE     number of a call site, 0 for none: the next ENTER is a call from there. An ENTER without SITE is a call from its caller's
//            latest site: code of the JDK may call back more than once
//
// If allocations are counted, the ticks are the bytes that the thread's allocation sites have allocated; an allocation is an ENTER and an
// EXIT of its class. Classes have ids below FIRST_METHOD_BESIDE_CLASSES, which the target assigns in the order of first use. Methods have
// the ids from there on.
//
// A session that times regions has only EXIT, EPOCH and ADJUST. The method of an EXIT is the number of a region, and its ticks are the
// duration of the execution. An EPOCH then holds the high bits of that duration, not of the clock, and is valid until the next EPOCH.

export const KIND_CATCH = 0
export const KIND_ENTER = 1
export const KIND_EXIT = 2
export const KIND_CONTROL = 3

export const TICK_BITS = 40
export const METHOD_BITS = 22
export const EVENT_BYTES = 8

export const CONTROL_EPOCH = 1
export const CONTROL_THREAD = 2
export const CONTROL_ADJUST = 3
export const CONTROL_SUSPEND = 4
export const CONTROL_RESUME = 5
export const CONTROL_ROOT = 6
export const CONTROL_SUBMIT = 7
export const CONTROL_BEGIN = 8
export const CONTROL_DROP = 9
export const CONTROL_UNWIND = 10
export const CONTROL_SAMPLE = 11
export const CONTROL_NAME = 12
export const CONTROL_ALLOCATED = 13
export const CONTROL_TRACK = 15
export const CONTROL_OVERFLOW = 16

export const NAME_CLASS_SHIFT = 25
export const NAME_AT_SHIFT = 16
export const FIRST_METHOD_BESIDE_CLASSES = 32768
export const CONTROL_SITE = 14

export const THREAD_NUMBER_BITS = 24
