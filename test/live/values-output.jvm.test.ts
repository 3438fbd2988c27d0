// Rows of --by in a recording, a report and an export, and sampled rows below them: a program whose argument is different in each call of a thread.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByPath, type JsonNode, jfluid, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'

const ROOT = 'fix.Slow.serve'
/** Number of calls of each of two threads. The argument of a call is its number. */
const CALLS = 300
const MAX_VALUES = 64

/** Returns the rows of values directly below the root, keyed by their name. */
function rowsOf(roots: readonly JsonNode[]): Map<string, JsonNode> {
  return new Map(roots.flatMap((it) => it.children.map((row) => [row.method, row] as const)))
}

function methodsBelow({ children }: JsonNode): string[] {
  return children.flatMap((it) => [it.method, ...methodsBelow(it)])
}

forNewestJdk((jdk) => {
  describe(`rows of values on JDK ${jdk.version}`, () => {
    let classes: string
    beforeAll(async () => {
      classes = await compileFixture(jdk, 'Slow')
    })

    async function started() {
      const java = startJava(jdk, ['-cp', classes, 'fix.Slow'])
      await java.line(/^ready/)
      return java
    }

    it('the first 64 values have rows of their own, and the root has no time outside of the rows', async () => {
      const java = await started()
      const recording = startRecording(java.pid, '--root', ROOT, '--by', 'arg0', '--scheme', 'b', '--yes')
      await recording.started
      java.send(`go ${CALLS}`)
      await java.line(/^done/)
      const profile = await recording.stop()
      const rows = rowsOf(profile.merged)
      expect(rows.size).toBe(MAX_VALUES + 1)
      const other = rows.get('by=(other)')!
      rows.delete('by=(other)')
      for (const [name, { calls }] of rows) expect(calls, name).toBe(2)
      expect(other.calls).toBe(2 * (CALLS - MAX_VALUES))
      const [root] = profile.merged
      expect(root!.calls).toBe(2 * CALLS)
      expect(Math.abs(root!.selfNs)).toBeLessThan(2 * CALLS)
      expect(sumsAreExact(profile.merged)).toBe(true)
      expect(callsByPath(profile.merged).get('fix.Slow.serve(I)V;.by=7;fix.Slow.lookUp(I)I')).toBe(10)
      // Durations of root calls exclude the same probe costs as the tree.
      expect(Math.abs(profile.rootCalls!.total - root!.totalNs)).toBeLessThan(
        1e-6 * root!.totalNs + 2 * CALLS,
      )

      const { stdout } = await jfluid('report', recording.file)
      expect(stdout).toMatch(/^values {4}by arg0: 64 values, 472 calls with other values$/m)
      const plain = await jfluid('export', recording.file, '--format', 'collapsed')
      expect(plain.stdout).toMatch(/^fix\.Slow\.serve;by=7;fix\.Slow\.lookUp \d+$/m)
      const redacted = await jfluid('export', recording.file, '--format', 'collapsed', '--redact')
      expect(redacted.stdout).toMatch(/;by=#\d+;fix\.Slow\.lookUp \d+$/m)
      expect(redacted.stdout).not.toMatch(/by=\d/)
      java.send('quit')
      await java.exit
    })

    it('with scheme adaptive, sampled rows are below the row of the value', async () => {
      const java = await started()
      const recording = startRecording(java.pid, '--root', ROOT, '--by', 'arg0', '--scheme', 'adaptive')
      await recording.started
      java.send(`go ${4 * CALLS}`)
      await java.line(/^done/)
      const profile = await recording.stop()
      const rows = rowsOf(profile.merged)
      expect([...rows.keys()].filter((it) => !it.startsWith('by='))).toEqual([])
      const other = rows.get('by=(other)')!
      // The first slow call has the value 99.
      expect(other.totalNs).toBeGreaterThan(0.5 * profile.merged[0]!.totalNs)
      expect(methodsBelow(other)).toContain('reload')
      expect(sumsAreExact(profile.merged)).toBe(true)
      java.send('quit')
      await java.exit
    })

    itInFull.each([
      [['--show', 'arg7.id'], '--show arg7.id: fix.Slow.serve(int) has 1 argument'],
      [['--by', 'arg0.id'], '--by arg0.id: argument 0 of fix.Slow.serve(int) is int, which has no fields'],
      [['--by', 'this'], '--by this: fix.Slow.serve(int) is static'],
      [['--show', 'return'], '--show return: fix.Slow.serve(int) returns no value'],
    ])('%j is refused before anything is redefined', async (options, message) => {
      const java = await started()
      const { code, stderr } = await jfluid('record', `${java.pid}`, '--root', ROOT, ...options, '--out', 'x')
      expect(stderr).toContain(`jfluid: ${message}\n`)
      expect(code).toBe(64)
      java.send('go 1')
      await java.line(/^done/)
      java.send('quit')
      await java.exit
    })
  })
})
