// What a lane says at its end: its slowest files, unit files that are too slow, and the tests it skipped and why.
//
// JFLUID_SECONDS names a file to which a line of JSON is added for each test file: {lane, file, seconds, passed, skipped, failed}.

import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { reasonOf, sayLane, type TestFile } from './summary.ts'

export default class LaneReporter implements Reporter {
  readonly #begun = performance.now()

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map(fileOf)
    const rows = process.env.JFLUID_SECONDS
    if (rows !== undefined) {
      for (const { skips, ...row } of files) appendFileSync(rows, `${JSON.stringify(row)}\n`)
    }
    const { text, isTooSlow } = sayLane(files, (performance.now() - this.#begun) / 1000)
    console.log(text)
    // With JFLUID_FULL unit files do the same more often.
    if (isTooSlow && process.env.JFLUID_FULL !== '1') process.exitCode = 1
  }
}

function fileOf(module: TestModule): TestFile {
  const tests = [...module.children.allTests()]
  const { collectDuration, setupDuration, duration } = module.diagnostic()
  const count = (state: string): number => tests.filter((test) => test.result().state === state).length
  return {
    lane: module.project.name,
    file: relative(module.project.config.root, module.moduleId),
    seconds: (collectDuration + setupDuration + duration) / 1000,
    passed: count('passed'),
    failed: Math.max(count('failed'), module.state() === 'failed' ? 1 : 0), // a hook, or the import
    skipped: count('skipped'),
    skips: tests.filter((test) => test.result().state === 'skipped').map((test) => reasonOf(test.fullName)),
  }
}
