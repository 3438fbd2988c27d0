// Maximum lengths of a method.

/** Maximum length of a method that HotSpot compiles, bytes (HugeMethodLimit, globals.hpp). */
export const HUGE_METHOD_BYTES = 8000
/** Maximum length of code in a class file, bytes (JVMS 4.7.3). */
export const MAX_CODE_BYTES = 65535

/** Returns the maximum length with probes. A method that HotSpot can compile must stay compilable; others may grow to MAX_CODE_BYTES. */
export function lengthLimit(before: number): number {
  return before <= HUGE_METHOD_BYTES ? HUGE_METHOD_BYTES : MAX_CODE_BYTES
}
