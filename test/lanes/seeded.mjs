// npm run test:seeded [-- name …]: puts each fault of seeded-faults.mjs into a copy of the checkout, and runs lanes until one finds it.
//
// The lanes are those of `npm test`, then the live files that the fault names. A copy without a fault must pass first, since otherwise a
// failure would prove nothing. A fault counts as found only if an expected test fails, so a failure by chance does not count. Exit code 1:
// the copy without a fault failed, or a fault was not found, which shows a hole in the tests.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SEEDED_FAULTS } from './seeded-faults.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const NPM_TEST = ['java', 'unit', 'smoke']
/** Maximum duration of a lane. A slower lane has failed. */
const LONGEST_SECONDS = 600
const MOST_NAMED = 5

const wanted = process.argv.slice(2)
const faults = SEEDED_FAULTS.filter(
  ({ name }) => wanted.length === 0 || wanted.some((it) => name.includes(it)),
)
if (faults.length === 0) {
  console.error(
    `no fault has such a name; there are:\n${SEEDED_FAULTS.map(({ name }) => `  ${name}`).join('\n')}`,
  )
  process.exit(64)
}

const liveFiles = [...new Set(faults.flatMap(({ live = [] }) => live))]
inCopy((copy) => {
  for (const [lane, files] of lanesOf(liveFiles)) {
    const { failed, passed, seconds, output } = runLane(copy, lane, files)
    if (failed.length > 0 || passed === 0) {
      console.error(`${output}\nwithout a fault the ${lane} lane fails, so nothing can be said of faults:`)
      for (const test of failed) console.error(`  ${test}`)
      process.exitCode = 1
      return
    }
    console.log(`without a fault: ${lane} passes ${passed} tests in ${seconds} s`)
  }
})
if (process.exitCode === undefined) {
  const rows = faults.map((fault) => ({ fault, ...seek(fault) }))
  console.log('\n| fault | file | lane | tests that fail | seconds |\n| --- | --- | --- | --- | --: |')
  for (const { fault, lane, tests, seconds } of rows) {
    const found = lane === null ? 'NOT FOUND |' : `${lane} | ${tests.length}, as \`${tests[0]}\``
    console.log(`| ${fault.name} | ${fault.file} | ${found} | ${seconds} |`)
  }
  const byNpmTest = rows.filter(({ lane }) => NPM_TEST.includes(lane)).length
  const missed = rows.filter(({ lane }) => lane === null).length
  console.log(`\n${byNpmTest} of ${rows.length} are found by npm test, ${missed} are not found`)
  if (missed > 0) process.exitCode = 1
}

/** @returns the lane that finds the fault, null if none does, and the expected tests that failed there */
function seek({ name, file, find, put, by, live = [] }) {
  const begun = performance.now()
  const seconds = () => Math.round((performance.now() - begun) / 1000)
  console.log(`\n${name} (${file})`)
  return inCopy((copy) => {
    const text = readFileSync(join(copy, file), 'utf8')
    if (text.split(find).length !== 2) throw new Error(`${file} does not have once:\n${find}`)
    writeFileSync(
      join(copy, file),
      text.replace(find, () => put),
    )
    for (const [lane, files] of lanesOf(live)) {
      const { failed, passed, output } = runLane(copy, lane, files)
      const tests = failed.filter((test) => by.test(test))
      if (failed.length > 0 && passed === 0) console.log(output) // perhaps the build has failed
      say(`${lane}: expected to fail, and failed`, tests)
      say(
        `${lane}: failed too`,
        failed.filter((test) => !by.test(test)),
      )
      if (tests.length > 0) return { lane, tests, seconds: seconds() }
    }
    console.log('  NOT FOUND')
    return { lane: null, tests: [], seconds: seconds() }
  })
}

function say(what, tests) {
  if (tests.length === 0) return
  console.log(`  ${what}: ${tests.length}`)
  for (const test of tests.slice(0, MOST_NAMED)) console.log(`    ${test}`)
}

/** Returns the lanes in order, each with the files that it runs. An empty list means all files. */
function lanesOf(live) {
  const alone = live.filter((file) => file.includes('.alone.'))
  const others = live.filter((file) => !file.includes('.alone.'))
  const named = [
    ['live', others],
    ['alone', alone],
  ]
  return [...NPM_TEST.map((lane) => [lane, []]), ...named.filter(([, files]) => files.length > 0)]
}

/**
 * Calls `use` with a copy of the checkout. The copy shares the installed packages, and its first lane builds what is newer than the build.
 */
function inCopy(use) {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'jfluid-seeded-')))
  try {
    cpSync(root, copy, {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !/\/node_modules$/.test(path),
    })
    rmSync(join(copy, 'test/lanes/seeded-faults.test.ts')) // any fault would fail it
    chmodSync(copy, 0o755) // tests run the copy as other users
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    return use(copy)
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** @returns the names of the failed tests, the number of passed tests, and the end of the output */
function runLane(copy, lane, files) {
  const begun = performance.now()
  const report = join(copy, 'dist', 'seeded.json')
  rmSync(report, { force: true })
  const command = [
    'node',
    'test/lanes/run.mjs',
    lane,
    '--',
    ...files,
    '--reporter=json',
    `--outputFile=${report}`,
  ]
  const { status, stdout, stderr } = spawnSync('timeout', [`${LONGEST_SECONDS}`, ...command], {
    cwd: copy,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  const output = `${stdout}${stderr}`
  const { failed, passed } = lane === 'java' ? javaTests(output) : vitestTests(copy, report)
  // The build has failed, or an error has occurred outside the tests.
  if (status !== 0 && failed.length === 0)
    failed.push(`the ${lane} lane ended with ${status}, and no test had failed`)
  const seconds = Math.round((performance.now() - begun) / 1000)
  return { failed, passed, seconds, output: output.slice(-4000) }
}

function vitestTests(copy, report) {
  let files
  try {
    files = JSON.parse(readFileSync(report, 'utf8')).testResults
  } catch (error) {
    if (error.code === 'ENOENT') return { failed: [], passed: 0 }
    throw error
  }
  const failed = []
  let passed = 0
  for (const { name, status, message, assertionResults } of files) {
    const file = relative(copy, name)
    const tests = assertionResults.filter((it) => it.status === 'failed')
    passed += assertionResults.filter((it) => it.status === 'passed').length
    for (const { ancestorTitles, title } of tests) failed.push([file, ...ancestorTitles, title].join(' > '))
    if (status === 'failed' && tests.length === 0) failed.push(`${file}: ${message.split('\n', 1)[0]}`)
  }
  return { failed, passed }
}

/** Parses the failed Java tests in the format of backend-java/test/check. */
function javaTests(output) {
  const checks = [...output.matchAll(/^(\w+Test)\.java:\d+ (\w+): /gm)].map(
    ([, test, method]) => `${test}.${method}`,
  )
  const endless = [...output.matchAll(/^(\w+Test\.\w+) has not ended/gm)].map(([, test]) => test)
  const passed = Number(/^(\d+) passed/m.exec(output)?.[1] ?? 0)
  return { failed: [...new Set([...checks, ...endless])], passed }
}
