// Makes V8 do less work in the background at the end of a session.

import { setFlagsFromString } from 'node:v8'

/**
 * V8 reads these flags each time it decides whether to optimize a function. Other thresholds (`--interrupt-budget`,
 * `--invocation-count-for-…`) do not change the present budget of a function that has been called before (decision 157). V8 still optimizes
 * long loops, by on-stack replacement.
 */
const FEWER_OPTIMIZATIONS = {
  upTo20: ['--ticks-before-optimization=150', '--max-bytecode-size-for-early-opt=0'],
  from21: ['--minimum-invocations-before-optimization=100000'],
}
/** V8 marks the heap when it has reached its limit. Without this flag, V8 begins earlier, and the session may end before the limit. */
const NO_MARKING_AHEAD = '--no-incremental-marking'
/** Newest release of Node.js for which these names were tested. V8 prints an error on the terminal for an unknown name. */
const NEWEST_TESTED = 25

/** Returns V8's flags for a release of Node.js. */
export function lessBackgroundWorkFlags(nodeMajor: number): readonly string[] {
  if (nodeMajor > NEWEST_TESTED) return []
  const { upTo20, from21 } = FEWER_OPTIMIZATIONS
  return [...(nodeMajor < 21 ? upTo20 : from21), NO_MARKING_AHEAD]
}

/**
 * Makes V8 optimize only code that runs often, and mark the heap only at its limit, in all threads, until the end of this process. The code
 * that ends a session and writes the profile runs once, and competes for the processors with the server, which compiles its restored code.
 * The library does not call it, since it would change the process of another program.
 */
export function doLessInBackground(): void {
  for (const flag of lessBackgroundWorkFlags(Number.parseInt(process.versions.node, 10)))
    setFlagsFromString(flag)
}
