// Summary of a lane: its slowest files, unit files that are too slow, and skipped tests with their reasons.
//
// JFLUID_SECONDS names a file to which a line of JSON is added when a test file has ended: {lane, file, seconds, passed, skipped, failed}.
// With JFLUID_SECONDS the slowest files are not listed here: slowest.mjs lists those of all lanes.
//
// The default reporter prints errors at the end of a lane. Here they are also printed at once, since a lane may be ended by a timeout.

import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node'
import { reasonOf, sayLane, type TestFile } from './summary.ts'

export default class LaneReporter implements Reporter {
  readonly #begun = performance.now()
  #isNamed = false

  onInit(vitest: Vitest): void {
    this.#isNamed = vitest.config.testNamePattern !== undefined // vitest skips the other tests of a file
  }

  onTestCaseResult(test: TestCase): void {
    for (const error of test.result().errors ?? []) printError(test.fullName, error)
  }

  onTestSuiteResult(suite: TestSuite): void {
    for (const error of suite.errors()) printError(`a hook of ${suite.fullName}`, error)
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) printError('import or hook', error)
    const rows = process.env.JFLUID_SECONDS
    if (rows === undefined) return
    const { skips, ...row } = fileOf(module, this.#isNamed)
    appendFileSync(rows, `${JSON.stringify(row)}\n`)
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((it) => fileOf(it, this.#isNamed))
    const laneSeconds = (performance.now() - this.#begun) / 1000
    const summary = sayLane(files, laneSeconds, process.env.JFLUID_SECONDS === undefined)
    console.log(summary.text)
    // With JFLUID_FULL, unit files run more repetitions.
    if (summary.isTooSlow && process.env.JFLUID_FULL !== '1') process.exitCode = 1
    if (summary.hasUnexplainedSkip) process.exitCode = 1
  }
}

function printError(what: string, { stack, message }: SerializedError): void {
  console.log(`FAILED: ${what}\n${stack ?? message}`)
}

/** @param isNamed  only tests with a given title run, so skipped tests need no reason */
function fileOf(module: TestModule, isNamed: boolean): TestFile {
  const tests = [...module.children.allTests()]
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  const count = (state: string): number => tests.filter((test) => test.result().state === state).length
  const skipped = isNamed ? [] : tests.filter((test) => test.result().state === 'skipped')
  return {
    lane: module.project.name,
    file: relative(module.project.config.root, module.moduleId),
    seconds: (collectDuration + setupDuration + duration) / 1000,
    passed: count('passed'),
    failed: Math.max(count('failed'), module.state() === 'failed' ? 1 : 0), // for a failed hook or import
    skipped: count('skipped'),
    skips: skipped.map((test) => reasonOf(test.fullName)),
  }
}
