// Data about a loaded class, without its bytes: one row of the agent's reply `LoadedClasses`.

export const CLASS_JDK = 1 // the class comes from the JDK's runtime image (jrt:), through any class loader
export const CLASS_HIDDEN = 2 // hidden class (lambda proxies …)
export const CLASS_UNMODIFIABLE = 4 // the JVM refuses to redefine it
export const CLASS_OURS = 8 // the class belongs to jfluid's agent or runtime
export const CLASS_UNINITIALISED = 16 // its <clinit> had not ended when the row was written

export interface ClassInfo {
  /** Id that the agent assigns: 1 for the first class, then consecutive. It does not change during a session. */
  readonly id: number
  /** Internal name, such as `java/util/Map$Entry`. In names of hidden classes, the suffix `/0x…` is changed to `+0x…`. */
  readonly name: string
  /** Number that identifies the class loader in this session; 0 is the bootstrap loader. */
  readonly loader: number
  /** Id of the superclass; 0 if the class has no superclass or if the superclass is not known yet. */
  readonly superId: number
  readonly interfaceIds: readonly number[]
  /** Modifiers of the class (JVMS 4.1 access_flags, from `Class.getModifiers()`). */
  readonly access: number
  /** Bit set of CLASS_* flags. */
  readonly flags: number
  /** Id of the nest host if the class is hidden, else 0. */
  readonly nestHost: number
}
