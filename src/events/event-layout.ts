// An event is one 64-bit word, never zero:
//
//    63 62 61                 40 39                                  0
//   +-----+---------------------+-------------------------------------+
//   |kind |       method        |   session ticks, low 40 bits        |
//   +-----+---------------------+-------------------------------------+
//
// The kinds are ENTER and EXIT of a method, CATCH, and control events. CATCH: an exception handler of the method has caught an exception.
// The thread is in that method again, and every frame above the method's innermost frame has ended. CATCH is kind 0. Since method ids begin
// at 1, neither the word nor its high half is ever zero.
//
// Session ticks count from the session's start. 40 bits are 18 minutes of nanoseconds, or 7 minutes of a counter at 2.6 GHz. If the low
// bits have wrapped, the thread writes EPOCH before its next event. 22 bits of method id allow 4 million methods.
//
// Control events carry a code in the method field and a payload in the low 40 bits:
//
//   EPOCH    session ticks >>> 40 for the following events of this writer
//   THREAD   thread number (bits 0-23) and segment (bits 24-39): the following events belong to this thread. A carrier thread writes
//            THREAD for the virtual thread that it runs. This is needed even after events of the same virtual thread, if the virtual
//            thread ran on another carrier in between. `segment` counts the thread's segments modulo 2^16. Segment k of a thread must be
//            read after all of segment k-1, which may be in another writer's chunks. At the start of a chunk, the writer is the
//            current thread.
//   ADJUST   ticks that the thread waited for jfluid since the last event. They are charged to no method
//   SUSPEND  session ticks (low 40 bits): the thread's clock stops (class-load hook)
//   RESUME   session ticks (low 40 bits): the thread's clock continues
//   ROOT     no payload: the next ENTER is an outermost root call, so this thread's simulated stack must be empty. If it is not
//            empty, events were lost, and the open frames are closed
//   SUBMIT   token: this thread submits work from its current context. A token is never reused
//   BEGIN    token: this thread begins the work, and is below the context of the SUBMIT until its next BEGIN or ROOT. Its stack must be
//            empty, as with ROOT. BEGIN must be read after the SUBMIT, which is in another writer's chunks and became visible earlier.
//            Token 0 means no work: the thread has ended its work
//   DROP     token: there will be no BEGIN. The work was rejected, cancelled, or done by a thread that was already inside a root
//   OVERFLOW method id: a StackOverflowError has left this method, the first instrumented method with enough stack to record the error.
//            Written after the EXIT of the method
//   UNWIND   number of frames: this many innermost frames of the thread's last sample have ended. ENTERs of the frames that replace them
//            follow
//   SAMPLE   weight: the thread is in its innermost frame now. The weight is the bytecodes executed since its last sample
//   NAME     class (bits 25-39), position (bits 16-24) and one UTF-16 unit (bits 0-15) of the name of an allocated class. Each word can be
//            read without the others
//   ALLOCATED bytes that the thread allocated in the root call that ends, as counted by the JVM; the EXIT of the root follows
//   TRACK    class (bits 25-39) and token: this thread has just allocated an instance of the class in its current context, and the
//            instance is tracked. A token consists of a slot (bits 9-24) and the number of earlier objects in that slot modulo 2^9
//   SITE     number of a call site, 0 for none: the next ENTER is a call from this site. An ENTER without SITE has the
//            site of the previous call by the same caller: JDK code called from one site may call back several methods
//   VALUE    slot (bits 35-39), kind (bits 32-34) and data (bits 0-31): part of a detail of the outermost root call of this thread that
//            has just ended. Written after the EXIT of the root. SLOT_DETAILS is the first VALUE of a call
//   THREW    number of an exception's class: the exception ends the outermost root call; the EXIT of the root follows
//
// If allocations are counted, the ticks are the bytes that the thread's allocation sites have allocated so far; an allocation is an ENTER
// and an EXIT of the allocated class. Classes have ids below NOT_ATTRIBUTED, which the target assigns in the order of first use. The
// client uses the id NOT_ATTRIBUTED for bytes without an allocation site. Methods have ids from FIRST_METHOD_BESIDE_CLASSES on.
//
// A session that times regions has only EXIT, EPOCH and ADJUST. The method of an EXIT is the number of a region, and its ticks are the
// duration of one execution of the region. An EPOCH then contains the high bits of durations, not of the clock, until the next EPOCH.

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
export const CONTROL_VALUE = 17
export const CONTROL_THREW = 18

export const VALUE_SLOT_SHIFT = 35
export const VALUE_KIND_SHIFT = 32
export const SLOT_TRACE_ID = 28
export const SLOT_CALLER = 29
export const SLOT_DETAILS = 31

/** First id in NAME words of a class of an exception; THREW words refer to the class by its distance from this id. */
export const FIRST_THROWN = 32702
export const MAX_THROWN = 64

export const NAME_CLASS_SHIFT = 25
export const NAME_AT_SHIFT = 16
export const NOT_ATTRIBUTED = 32767
export const FIRST_METHOD_BESIDE_CLASSES = 32768
export const CONTROL_SITE = 14

export const THREAD_NUMBER_BITS = 24
