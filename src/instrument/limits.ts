// How long a method may become.

/** HotSpot never compiles a method with more bytecode than this (HugeMethodLimit, globals.hpp). */
export const HUGE_METHOD_BYTES = 8000
/** Code that is longer is no code (JVMS 4.7.3). */
export const MAX_CODE_BYTES = 65535

/** A method that the JVM compiles stays one; others may grow as long as they like. */
export function lengthLimit(before: number): number {
  return before <= HUGE_METHOD_BYTES ? HUGE_METHOD_BYTES : MAX_CODE_BYTES
}
