// An event is one 64-bit word, never zero:
//
//    63 62 61                 40 39                                  0
//   +-----+---------------------+-------------------------------------+
//   |kind |       method        |   session ticks, low 40 bits        |
//   +-----+---------------------+-------------------------------------+
//
// ENTER and EXIT of a method, CATCH where one of its own handlers has caught something: the thread is in that
// method again, and every frame above its nearest one is gone. CATCH is kind 0; method ids begin at 1, so
// that its word is not zero, nor its high half.
//
// Session ticks count from the session's start. 40 bits are 18 minutes of nanoseconds, 7 of a counter at 2.6 GHz; when they
// wrap, the thread writes EPOCH first. 22 bits of method id is 4 million methods.
//
// Control events carry a code in the method field and a payload in the low 40 bits:
//
//   EPOCH    session ticks >>> 40 from here on, for this writer
//   THREAD   thread number (bits 0-23) and segment (bits 24-39): the events that follow belong to
//            this thread. Written by a carrier thread for the virtual thread it runs, also when that
//            thread was the writer's latest but has run on another carrier in between. `segment`
//            counts the thread's segments modulo 2^16; segment k of a thread must be read after all
//            of segment k-1, which may lie in another writer's chunks.
//            A chunk starts with its writer as the current thread (number == writer).
//   ADJUST   ticks that passed in our own waiting since the last event: charged to nobody
//   SUSPEND  session ticks (low 40 bits): the thread's clock stops (class-load hook)
//   RESUME   session ticks (low 40 bits): it runs again
//   ROOT     no payload: the next ENTER is a root entered from outside, so this thread's simulated
//            stack must be empty; if it is not, it drifted and is healed
//   SUBMIT   token: this thread hands work over, from the context where it is now. A token is never
//            used twice
//   BEGIN    token: this thread takes that work up, and stands below the context of the SUBMIT until
//            its next BEGIN or ROOT. Its stack must be empty, as with ROOT. Must be read after the
//            SUBMIT, which lies in another writer's chunks and was visible before. Token 0 is no work:
//            the thread lets go of what it had taken up
//   DROP     token: there will be no BEGIN, the work has been refused, taken back, or done by a thread
//            that was inside the graph already
//   OVERFLOW method id: a StackOverflowError has left this method, the first one that had stack to say so. Follows its EXIT
//   UNWIND   number of frames: of the stack that this thread's last sample showed, so many have gone, the innermost
//            ones. ENTERs follow for those that are there instead
//   SAMPLE   weight: the thread is in the innermost frame now. Bytecodes it has executed since its last sample
//   NAME     class (bits 25-39), position (bits 16-24) and one UTF-16 unit (bits 0-15): of the name of a class of which
//            something was allocated. Each word stands for itself
//   ALLOCATED bytes that the JVM says the thread has allocated in the call of a root that has just ended
//   TRACK    class (bits 25-39) and token: an instance of it that this thread has just allocated, where it is now, is looked
//            after. A token is a place (bits 9-24) and how many objects had it before, modulo 2^9
//
// Where allocations are counted, the ticks are what the thread's allocation sites have allocated, in bytes; an allocation
// is an ENTER and an EXIT of its class. Classes have the ids below FIRST_METHOD_BESIDE_CLASSES, given by the target in the
// order they are met, and methods those from there on.
//
// In a session that times regions there is nothing but EXIT, EPOCH and ADJUST. The method of an EXIT is the number of a
// region, its ticks are how long the execution was; an EPOCH is not of the clock but of this number, and holds until
// the next.
//   SITE     number of a call site, 0 for none: the next ENTER is a call from there. An ENTER without one is a call from
//            where its caller's latest was: code of the JDK calls back more than once

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
