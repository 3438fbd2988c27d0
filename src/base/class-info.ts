// Facts about a loaded class, without its bytes: one row of the agent's reply `LoadedClasses`.

export const CLASS_JDK = 1 // the class is in the runtime image (jrt:), with any loader
export const CLASS_HIDDEN = 2 // hidden class (lambda proxies …)
export const CLASS_UNMODIFIABLE = 4 // the JVM refuses to redefine it
export const CLASS_OURS = 8 // jfluid's own agent or runtime
export const CLASS_UNINITIALISED = 16 // its <clinit> had not ended when the row was written

export interface ClassInfo {
  /** Id from the agent: dense from 1, stable for one session. */
  readonly id: number
  /** Internal name, `java/util/Map$Entry`. Hidden classes keep their `/0x…` suffix as `+0x…`. */
  readonly name: string
  /** Number of the class loader in this session; 0 is the bootstrap loader. */
  readonly loader: number
  /** Id of the superclass; 0 if it has none or if it is not known yet. */
  readonly superId: number
  readonly interfaceIds: readonly number[]
  /** Modifiers of the class (JVMS 4.1 access_flags, from `Class.getModifiers()`). */
  readonly access: number
  /** Bit set of CLASS_* flags. */
  readonly flags: number
  /** Id of the nest host if the class is hidden, else 0. */
  readonly nestHost: number
}
