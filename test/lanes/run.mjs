// npm test, npm run test:live, npm run test:full: installs and builds what is missing, then runs lanes one after the other.
//
//   node test/lanes/run.mjs <lane>… [-- arguments of vitest: parts of file names, -t 'a title', …]
//
// All lanes run, even if an earlier lane fails. Exits with 1 if a lane has failed.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { prepare } from '../support/prepare.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Node versions of `test:full` besides the current one. In CI, the oldest version that jfluid supports runs all other lanes. */
const NODES = ['22', '24']

const LANES = {
  java: () => command('node', ['backend-java/test.mjs']),
  unit: (args) => vitest('unit', args),
  nodes: (args) =>
    NODES.map((node) => command('npx', ['-y', '-p', `node@${node}`, ...unitWith(args)], 'unit')).every(
      Boolean,
    ),
  smoke: (args) => vitest('smoke', args),
  live: (args) => vitest('live', args),
  alone: (args) => vitest('alone', args),
  full: (args) => vitest('full', args),
}

/**
 * Tests that are selected by name may be in one lane only, so a lane may run no test. Without a selection, a lane without tests is an
 * error.
 */
const unitWith = (args) => [
  ...['node', 'node_modules/vitest/vitest.mjs', 'run'],
  ...(args.length > 0 ? ['--passWithNoTests', ...args] : []),
]

function vitest(lane, args) {
  return command(process.execPath, unitWith(args).slice(1), lane)
}

function command(program, args, lane) {
  const env = lane === undefined ? process.env : { ...process.env, JFLUID_LANE: lane }
  return spawnSync(program, args, { cwd: root, stdio: 'inherit', env }).status === 0
}

const args = process.argv.slice(2)
const end = args.includes('--') ? args.indexOf('--') : args.length
const lanes = args.slice(0, end)
const rest = args.slice(end + 1)
if (lanes.length === 0 || !lanes.every((lane) => Object.hasOwn(LANES, lane))) {
  console.error(
    `usage: node test/lanes/run.mjs <lane>… [-- vitest's arguments]; lanes: ${Object.keys(LANES).join(', ')}`,
  )
  process.exit(64)
}

const begun = performance.now()
prepare()
const results = lanes.map((lane) => {
  console.log(`\n== ${lane} (${seconds()} s since the start)`)
  return { lane, passed: LANES[lane](rest) }
})
console.log(
  `\n${results.map(({ lane, passed }) => `${lane}: ${passed ? 'passed' : 'FAILED'}`).join(', ')} in ${seconds()} s`,
)
if (lanes.includes('smoke')) {
  console.log(
    'The other tests: npm run test:live (most that start a JVM), npm run test:full (corpora, soaks, browsers).',
  )
}
process.exit(results.every(({ passed }) => passed) ? 0 : 1)

function seconds() {
  return ((performance.now() - begun) / 1000).toFixed(0)
}
