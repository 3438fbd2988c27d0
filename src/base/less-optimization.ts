// Makes V8 optimize less code at the end of a session.

import { setFlagsFromString } from 'node:v8'

/**
 * V8's thresholds, 15 times their defaults. With the defaults, V8 optimized the code that ends a session and writes the profile, which runs
 * once: on two processors, beside a server that compiles its restored code, the steps after the restoration took 110 to 460 ms, and 90 to
 * 180 ms with these thresholds. Loops over millions of events reach these thresholds in milliseconds.
 */
const THRESHOLDS = {
  upTo21: ['--interrupt-budget=1000000'],
  from22: [
    '--invocation-count-for-maglev=6000',
    '--invocation-count-for-maglev-osr=1500',
    '--invocation-count-for-turbofan=45000',
    '--invocation-count-for-osr=12000',
  ],
}
/** Newest release of Node.js for which these names were tested. V8 prints an error on the terminal for an unknown name. */
const NEWEST_TESTED = 25

/** Returns V8's flags for a release of Node.js. */
export function fewerOptimizations(nodeMajor: number): readonly string[] {
  if (nodeMajor > NEWEST_TESTED) return []
  return nodeMajor < 22 ? THRESHOLDS.upTo21 : THRESHOLDS.from22
}

/**
 * Makes V8 optimize only code that runs often, in all threads, until the end of this process. V8 reads the thresholds while code is running.
 * With these thresholds from the start of the process, the start of a session took 60 to 100 ms longer. The library does not call it, since
 * it would change the process of another program.
 */
export function optimizeLess(): void {
  for (const flag of fewerOptimizations(Number.parseInt(process.versions.node, 10))) setFlagsFromString(flag)
}
