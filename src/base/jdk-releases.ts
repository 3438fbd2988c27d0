// What differs between releases of the JDK, for the client. JFluid1Release.java is the table of the agent.

/** The releases with which the main functions are tested (docs/jdks.md). */
export const TESTED_JDKS = [11, 17, 21, 25, 26, 27] as const
/** An older release is refused. */
export const OLDEST_JDK = TESTED_JDKS[0]
export const NEWEST_JDK = TESTED_JDKS[TESTED_JDKS.length - 1]

/** The first release with a change. */
export const SINCE = {
  /** An agent can connect to a UNIX socket (JEP 380); before, it uses named pipes. */
  UNIX_SOCKETS: 16,
  /** Reference.refersTo, which does not keep the object alive as Reference.get does (JDK-8188055). */
  REFERS_TO: 16,
  /** Constructor.newInstance calls newInstanceWithCaller. Present in 17, absent from 11. */
  NEW_INSTANCE_WITH_CALLER: 17,
  /** `JFR.start` and -XX:StartFlightRecording accept settings of events (JDK-8256156). */
  RECORDING_SETTINGS: 17,
  /**
   * Object.wait(long) and Thread.sleep(long) are Java methods that call native methods (JDK-8286176, JDK-8287496); before, they are native.
   */
  JAVA_WAITS: 19,
  /** A dynamically loaded agent causes a warning (JEP 451). */
  AGENT_WARNING: 21,
  /** Virtual threads (JEP 444). */
  VIRTUAL_THREADS: 21,
  /**
   * A redefinition discards only the compiled code that depends on the redefined class (JDK-8324241). In an older JVM the first
   * redefinition discards all compiled code. The first start of a JVM's flight recorder also redefines classes.
   */
  SELECTIVE_INVALIDATION: 23,
  /** A security manager can no longer be set (JEP 486). */
  NO_SECURITY_MANAGER: 24,
  /** The event jdk.CPUTimeSample (JEP 509). */
  CPU_TIME_SAMPLES: 25,
} as const
