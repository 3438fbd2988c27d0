// --mode alloc with the whole JDK: the recorded bytes equal the JVM's counter per thread. Takes a minute on a busy machine.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'

forEachJdk((jdk) => {
  it('with --jdk and without escape analysis, the allocated bytes differ by at most 1 % from the counter of the JVM', async () => {
    const file = join(temporaryDirectory('jfluid-alloc-'), 'p.jfluid')
    const roots = ['--root', 'fix.Allocs.root', '--root', 'fix.Allocs.library']
    const program = [
      jdk.java,
      '-XX:-DoEscapeAnalysis',
      '-cp',
      await compileFixture(jdk, 'Allocs'),
      'fix.Allocs',
      'both',
      '1000',
      '8',
    ]
    const flags = ['--record', file, '--mode', 'alloc', '--jdk', '--yes']
    const ran = await jfluid('run', ...roots, ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const { allocation, merged } = await readProfileJson(file)
    const told: Record<string, number> = { root: 0, library: 0 }
    for (const [, what, bytes] of ran.stdout.matchAll(/(\w+): jvm (\d+)/g)) told[what!]! += Number(bytes)
    expect(allocation!.jvmBytes! / (told.root! + told.library!)).toBeCloseTo(1, 2)
    for (const node of merged) {
      const { [node.method]: jvm = Number.NaN } = told
      expect(Math.abs(node.totalBytes! / jvm - 1), `${node.method} ${node.totalBytes} ${jvm}`).toBeLessThan(
        0.01,
      )
    }
    expect(merged).toHaveLength(2)
  }, 120_000)
})
