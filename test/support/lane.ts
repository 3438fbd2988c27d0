// Which lane runs, as far as tests differ by it (test/lanes/run.mjs sets it).

/** `npm run test:full`: the same tests, more often, and on each JDK of the machine. */
export const FULL = process.env.JFLUID_FULL === '1'

export const LANE = process.env.JFLUID_LANE
