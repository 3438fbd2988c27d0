// Names and numbers of the constants in the specification. All other files in this folder use only the names, for example
// `'CLASS_PREPARE'`, `'EVENT_THREAD'`, `'INVALID_CLASS'`.
//
// Source: the constant sets at the end of the JDK's jdwp.spec (src/java.se/share/data/jdwp). A test compares these
// tables with `com.sun.tools.jdi.JDWP`, the class that the JDK's build generates from jdwp.spec.

/** JDWP.Error. The value 0 (NONE) means success and is omitted here. */
export const ERRORS = {
  INVALID_THREAD: 10,
  INVALID_THREAD_GROUP: 11,
  INVALID_PRIORITY: 12,
  THREAD_NOT_SUSPENDED: 13,
  THREAD_SUSPENDED: 14,
  THREAD_NOT_ALIVE: 15,
  /** Error for an unknown id, or for an id of an unloaded class or a collected object. */
  INVALID_OBJECT: 20,
  INVALID_CLASS: 21,
  CLASS_NOT_PREPARED: 22,
  INVALID_METHODID: 23,
  INVALID_LOCATION: 24,
  INVALID_FIELDID: 25,
  INVALID_FRAMEID: 30,
  NO_MORE_FRAMES: 31,
  /** Error for a native frame, or for an inaccessible frame of a virtual thread. */
  OPAQUE_FRAME: 32,
  NOT_CURRENT_FRAME: 33,
  TYPE_MISMATCH: 34,
  INVALID_SLOT: 35,
  DUPLICATE: 40,
  NOT_FOUND: 41,
  INVALID_MODULE: 42,
  INVALID_MONITOR: 50,
  NOT_MONITOR_OWNER: 51,
  INTERRUPT: 52,
  INVALID_CLASS_FORMAT: 60,
  CIRCULAR_CLASS_DEFINITION: 61,
  FAILS_VERIFICATION: 62,
  ADD_METHOD_NOT_IMPLEMENTED: 63,
  SCHEMA_CHANGE_NOT_IMPLEMENTED: 64,
  INVALID_TYPESTATE: 65,
  HIERARCHY_CHANGE_NOT_IMPLEMENTED: 66,
  DELETE_METHOD_NOT_IMPLEMENTED: 67,
  UNSUPPORTED_VERSION: 68,
  NAMES_DONT_MATCH: 69,
  CLASS_MODIFIERS_CHANGE_NOT_IMPLEMENTED: 70,
  METHOD_MODIFIERS_CHANGE_NOT_IMPLEMENTED: 71,
  CLASS_ATTRIBUTE_CHANGE_NOT_IMPLEMENTED: 72,
  /** Error for a command that the JVM does not know, for example a newer command. */
  NOT_IMPLEMENTED: 99,
  NULL_POINTER: 100,
  /** Error for data that the class file lacks: line table, variables or source file. */
  ABSENT_INFORMATION: 101,
  INVALID_EVENT_TYPE: 102,
  ILLEGAL_ARGUMENT: 103,
  OUT_OF_MEMORY: 110,
  ACCESS_DENIED: 111,
  VM_DEAD: 112,
  INTERNAL: 113,
  UNATTACHED_THREAD: 115,
  INVALID_TAG: 500,
  ALREADY_INVOKING: 502,
  INVALID_INDEX: 503,
  INVALID_LENGTH: 504,
  INVALID_STRING: 506,
  INVALID_CLASS_LOADER: 507,
  INVALID_ARRAY: 508,
  TRANSPORT_LOAD: 509,
  TRANSPORT_INIT: 510,
  NATIVE_METHOD: 511,
  INVALID_COUNT: 512,
} as const

/**
 * JDWP.EventKind, for kinds that a JVM sends. THREAD_END and VM_INIT are obsolete names of THREAD_DEATH and VM_START;
 * FRAME_POP, USER_DEFINED, CLASS_LOAD and EXCEPTION_CATCH have numbers, but no layout; VM_DISCONNECTED is never sent.
 */
export const EVENT_KINDS = {
  SINGLE_STEP: 1,
  BREAKPOINT: 2,
  EXCEPTION: 4,
  THREAD_START: 6,
  THREAD_DEATH: 7,
  CLASS_PREPARE: 8,
  CLASS_UNLOAD: 9,
  FIELD_ACCESS: 20,
  FIELD_MODIFICATION: 21,
  METHOD_ENTRY: 40,
  METHOD_EXIT: 41,
  METHOD_EXIT_WITH_RETURN_VALUE: 42,
  MONITOR_CONTENDED_ENTER: 43,
  MONITOR_CONTENDED_ENTERED: 44,
  MONITOR_WAIT: 45,
  MONITOR_WAITED: 46,
  VM_START: 90,
  VM_DEATH: 99,
} as const

/** JDWP.Tag: the kind of a value. The numbers are character codes. */
export const TAGS = {
  ARRAY: 91, // [
  BYTE: 66, // B
  CHAR: 67, // C
  OBJECT: 76, // L
  FLOAT: 70, // F
  DOUBLE: 68, // D
  INT: 73, // I
  LONG: 74, // J
  SHORT: 83, // S
  VOID: 86, // V
  BOOLEAN: 90, // Z
  STRING: 115, // s
  THREAD: 116, // t
  THREAD_GROUP: 103, // g
  CLASS_LOADER: 108, // l
  CLASS_OBJECT: 99, // c
} as const

/** JDWP.TypeTag. */
export const TYPE_TAGS = { CLASS: 1, INTERFACE: 2, ARRAY: 3 } as const

/** JDWP.ThreadStatus. A thread in `LockSupport.park` has WAIT, too. */
export const THREAD_STATUSES = { ZOMBIE: 0, RUNNING: 1, SLEEPING: 2, MONITOR: 3, WAIT: 4 } as const

/** Bit of JDWP.SuspendStatus. */
export const SUSPEND_STATUS_SUSPENDED = 1

/** Bits of JDWP.ClassStatus. */
export const STATUS_VERIFIED = 1
export const STATUS_PREPARED = 2
export const STATUS_INITIALIZED = 4
export const STATUS_ERROR = 8

/** JDWP.StepDepth. */
export const STEP_DEPTHS = { INTO: 0, OVER: 1, OUT: 2 } as const

/** JDWP.StepSize. MIN is the smallest possible step, often one instruction. */
export const STEP_SIZES = { MIN: 0, LINE: 1 } as const

/** JDWP.SuspendPolicy: the threads that an event suspends. */
export const SUSPEND_POLICIES = { NONE: 0, EVENT_THREAD: 1, ALL: 2 } as const

/** Bits of JDWP.InvokeOptions. */
export const INVOKE_SINGLE_THREADED = 1
export const INVOKE_NONVIRTUAL = 2

/** Modifiers of EventRequest.Set, which restrict a request. */
export const MODIFIERS = {
  Count: 1,
  Conditional: 2,
  ThreadOnly: 3,
  ClassOnly: 4,
  ClassMatch: 5,
  ClassExclude: 6,
  LocationOnly: 7,
  ExceptionOnly: 8,
  FieldOnly: 9,
  Step: 10,
  InstanceOnly: 11,
  SourceNameMatch: 12,
  PlatformThreadsOnly: 13,
} as const

export type ErrorName = keyof typeof ERRORS
export type EventKind = keyof typeof EVENT_KINDS
export type Tag = keyof typeof TAGS
export type TypeTag = keyof typeof TYPE_TAGS
export type ThreadStatus = keyof typeof THREAD_STATUSES
export type StepDepth = keyof typeof STEP_DEPTHS
export type StepSize = keyof typeof STEP_SIZES
export type SuspendPolicy = keyof typeof SUSPEND_POLICIES

/** Returns a map from numbers to names. */
export function namesOf<Name extends string>(
  table: Readonly<Record<Name, number>>,
): ReadonlyMap<number, Name> {
  return new Map(Object.entries<number>(table).map(([name, code]) => [code, name as Name]))
}
