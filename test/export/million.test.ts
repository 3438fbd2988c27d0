// Profiles of 1,000,000 contexts, exported by the command in a heap that could not hold the export.

import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { formats } from '../../src/export/formats.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'

const CONTEXTS = 1_000_000
const METHODS = 3000
const HEAP_MIB = 256
const LIVENESS_MS = 600_000

describe.runIf(process.env.JFLUID_FULL === '1')('of 1,000,000 contexts', () => {
  let file = ''

  beforeAll(async () => {
    const tree = randomTree(CONTEXTS, METHODS, seeded(5))
    assert.equal(tree.count, CONTEXTS)
    const names = Array.from({ length: METHODS }, (_, id) => `Service${id % 97}.method${id} 1x 1ns`)
    const threads = [{ id: 1, name: 'main', tree }]
    file = join(temporaryDirectory(), 'million.jfluid')
    await writeProfile(profileOfTree(tree, profileOf(names.join(' ')).methodNames, { threads }), file)
  }, LIVENESS_MS)

  it.each(formats.map((format) => [format.name, format.extension]))(
    `--format %s needs no more than ${HEAP_MIB} MiB of heap`,
    async (name, extension) => {
      const out = join(dirname(file), `million${extension}`)
      const limited = [
        `--max-old-space-size=${HEAP_MIB}`,
        cli,
        'export',
        file,
        '--format',
        name,
        '--out',
        out,
      ]
      const p = startProcess(process.execPath, limited)
      const { code } = await p.exit
      assert.equal(code, 0, p.stderr().slice(-2000))
      assert.equal(p.stderr(), '')
      assert.ok(statSync(out).size > 200)
      console.info(`${name}: ${(statSync(out).size / 1e6).toFixed(0)} MB`)
      assert.deepEqual(
        readdirSync(dirname(file)).filter((it) => it.endsWith('.tmp')),
        [],
      )
    },
    LIVENESS_MS,
  )
})
