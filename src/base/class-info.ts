// What the target tells about a class without sending its bytes: one row of LoadedClasses.

export const CLASS_JDK = 1 // lies in the runtime image (jrt:), whatever its loader
export const CLASS_HIDDEN = 2 // hidden class (lambda proxies …)
export const CLASS_UNMODIFIABLE = 4 // the JVM refuses to redefine it
export const CLASS_OURS = 8 // jfluid's own agent or runtime
export const CLASS_UNINITIALISED = 16 // its <clinit> had not ended when the row was made

export interface ClassInfo {
  /** Dense from 1, given by the agent, stable for one session. */
  readonly id: number
  /** Internal name, `java/util/Map$Entry`. Hidden classes keep their `/0x…` suffix as `+0x…`. */
  readonly name: string
  /** Loader number of the session, 0 for the bootstrap loader. */
  readonly loader: number
  /** Id of the superclass, 0 for none or not known yet. */
  readonly superId: number
  readonly interfaceIds: readonly number[]
  /** Modifiers of the class (JVMS 4.1 access_flags as `Class.getModifiers()` gives them). */
  readonly access: number
  /** Set of CLASS_* bits. */
  readonly flags: number
  /** Id of the nest host if the class is hidden, else 0. */
  readonly nestHost: number
}
