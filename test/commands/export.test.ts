// jfluid export on a terminal.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { writeProfile } from '../../src/profile/file.ts'
import { build, profileOf, profileOfTree } from '../profile/trees.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'

/** With at least this number of contexts, progress is shown immediately. */
const CONTEXTS = 100_000

it('a terminal shows the progress of an export, and the progress line is cleared at the end', async () => {
  const cwd = temporaryDirectory()
  const file = join(cwd, 'large.jfluid')
  const column = (of: (i: number) => number) => Array.from({ length: CONTEXTS }, (_, i) => of(i))
  // A root and its children.
  const tree = build(
    column((i) => (i === 0 ? -1 : 0)),
    column((i) => 1 + Math.min(i, 1)),
    column(() => 1),
    column(() => 5),
  )
  await writeProfile(profileOfTree(tree, profileOf('main 1x 1ns ( work 1x 1ns )').methodNames), file)
  for (const [to, what] of [
    ['--out out.collapsed', 'writing out.collapsed'],
    ['--format csv > out.csv', 'writing csv'],
  ]) {
    const command = `'${process.execPath}' '${cli}' export '${file}' ${to}`
    const p = startProcess('script', ['-qefc', command, '/dev/null'], { cwd })
    const { code } = await p.exit
    assert.equal(code, 0, p.stdout())
    assert.ok(p.stdout().includes(`${what}: 100000 contexts`), p.stdout())
    assert.ok(p.stdout().endsWith('\r\x1b[K'), p.stdout())
  }
  assert.ok(statSync(join(cwd, 'out.csv')).size > 1e6)
})
