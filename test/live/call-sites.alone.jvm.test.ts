// --call-sites of samples by time: shares of a method that two lines call.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'

forNewestJdk((jdk) => {
  it('samples by time: a method that is busy has two callers in one method', async () => {
    const file = join(temporaryDirectory('jfluid-sites-'), 'p.jfluid')
    const program = [jdk.java, '-cp', await compileFixture(jdk, 'Sites'), 'fix.Sites', 'spin', '700']
    const flags = ['--root', 'fix.Sites.spin', '--mode', 'sample', '--every', '0.5ms', '--record', file]
    const ran = await jfluid('run', '--call-sites', ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const { merged } = await readProfileJson(file)
    const work = merged[0]!.children.filter((it) => it.method === 'work')
    const lines = work.map(({ line }) => line!).sort((a, b) => a - b)
    expect(lines).toEqual([lines[0], lines[0]! + 2])
    const samples = work.map((it) => it.totalSamples!)
    expect(Math.min(...samples) / Math.max(...samples)).toBeGreaterThan(0.5)
    expect(Math.max(...samples)).toBeGreaterThan(50)
    // Their own callee has one place in each.
    const mixed = work.flatMap((it) => it.children).filter((it) => it.method === 'mixed')
    expect(new Set(mixed.map((it) => it.line)).size).toBe(1)
  })
})
