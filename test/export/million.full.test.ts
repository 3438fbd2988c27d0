// Profiles of 1,000,000 contexts, exported by the command with a heap smaller than the export.
//
// The heap limit excludes buffers, so the memory of the process is also checked.

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
/** Maximum memory of the process: heap, columns of the tree, buffers and Node.js itself. */
const PROCESS_MB = 500
/** Prints the maximum memory of the process on stdout, in KiB. */
const TELL_MEMORY = 'data:text/javascript,process.on("exit",()=>console.log(process.resourceUsage().maxRSS))'
const LIVENESS_MS = 600_000

describe('exports of profiles with 1,000,000 contexts', () => {
  let file = ''

  beforeAll(async () => {
    const tree = randomTree(CONTEXTS, METHODS, seeded(5))
    assert.equal(tree.count, CONTEXTS)
    const names = Array.from({ length: METHODS }, (_, id) => `Service${id % 97}.method${id} 1x 1ns`)
    const threads = [{ id: 1, name: 'main', tree }]
    file = join(temporaryDirectory(), 'large.jfluid')
    await writeProfile(profileOfTree(tree, profileOf(names.join(' ')).methodNames, { threads }), file)
  }, LIVENESS_MS)

  it.each(
    formats.filter(({ needsTrace }) => needsTrace !== true).map(({ name, extension }) => [name, extension]),
  )(
    `export --format %s needs no more than ${HEAP_MIB} MiB of heap`,
    async (name, extension) => {
      const out = join(dirname(file), `million${extension}`)
      const limited = [
        `--max-old-space-size=${HEAP_MIB}`,
        '--import',
        TELL_MEMORY,
        cli,
        'export',
        file,
        '--format',
        name,
        '--out',
        out,
      ]
      const begun = performance.now()
      const p = startProcess(process.execPath, limited)
      const { code } = await p.exit
      assert.equal(code, 0, p.stderr().slice(-2000))
      assert.equal(p.stderr(), '')
      assert.ok(statSync(out).size > 200)
      const megabytes = (Number(p.stdout()) * 1024) / 1e6
      const seconds = ((performance.now() - begun) / 1000).toFixed(0)
      const size = (statSync(out).size / 1e6).toFixed(0)
      console.info(`${name}: ${size} MB in ${seconds} s, with ${megabytes.toFixed(0)} MB of memory`)
      assert.ok(megabytes > 0 && megabytes < PROCESS_MB, `${megabytes} MB`)
      assert.deepEqual(
        readdirSync(dirname(file)).filter((it) => it.endsWith('.tmp')),
        [],
      )
    },
    LIVENESS_MS,
  )
})
