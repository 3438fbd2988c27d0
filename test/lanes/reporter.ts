// Summary of a lane: its slowest files, unit files that are too slow, and skipped tests with their reasons.
//
// JFLUID_SECONDS names a file to which a line of JSON is added for each test file: {lane, file, seconds, passed, skipped, failed}.
// With JFLUID_SECONDS the slowest files are not listed here: slowest.mjs lists those of all lanes.

import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { reasonOf, sayLane, type TestFile } from './summary.ts'

export default class LaneReporter implements Reporter {
  readonly #begun = performance.now()
  #isNamed = false

  onInit(vitest: Vitest): void {
    this.#isNamed = vitest.config.testNamePattern !== undefined // vitest skips the other tests of a file
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((it) => fileOf(it, this.#isNamed))
    const rows = process.env.JFLUID_SECONDS
    if (rows !== undefined) {
      for (const { skips, ...row } of files) appendFileSync(rows, `${JSON.stringify(row)}\n`)
    }
    const laneSeconds = (performance.now() - this.#begun) / 1000
    const summary = sayLane(files, laneSeconds, rows === undefined)
    console.log(summary.text)
    // With JFLUID_FULL, unit files run more repetitions.
    if (summary.isTooSlow && process.env.JFLUID_FULL !== '1') process.exitCode = 1
    if (summary.hasUnexplainedSkip) process.exitCode = 1
  }
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
