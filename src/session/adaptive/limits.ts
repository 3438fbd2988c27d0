// What may be done to a JVM without asking.

/** A redefinition that would stop it for longer is left to the user. In ms. */
export const LONGEST_PAUSE_MS = 125
/** What a redefined class takes of metaspace, for each byte of its class file; and how much all may take in a session, in bytes. */
export const METASPACE_A_BYTE = 4
export const MOST_METASPACE = 8 << 20
/** Of metaspace that must stay free. */
export const FREE_METASPACE = 16 << 20
