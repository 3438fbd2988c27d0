// Limits of the length of a method.

/** HotSpot never compiles a method with more bytecode than this (HugeMethodLimit, globals.hpp). */
export const HUGE_METHOD_BYTES = 8000
/** Maximum length of code (JVMS 4.7.3). */
export const MAX_CODE_BYTES = 65535

/** Returns the limit for one method: a compiled method must stay compilable; other methods may grow to the format's maximum. */
export function lengthLimit(before: number): number {
  return before <= HUGE_METHOD_BYTES ? HUGE_METHOD_BYTES : MAX_CODE_BYTES
}
