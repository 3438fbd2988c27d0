// The running lane, as far as tests depend on it (test/lanes/run.mjs sets it).

/** `npm run test:full` runs the same tests with more repetitions, on every JDK of the machine. */
export const FULL = process.env.JFLUID_FULL === '1'

export const LANE = process.env.JFLUID_LANE
