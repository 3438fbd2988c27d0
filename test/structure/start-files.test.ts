// Number of jfluid files that Node loads while a user waits (rolldown.config.js defines the files).

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const dist = fileURLToPath(new URL('../../dist', import.meta.url))

/** Returns the files and their static imports, including indirect imports. */
function readAtOnce(...begins: string[]): Set<string> {
  const files = new Set(begins)
  for (const file of files)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) [^;]*?"(\.[^"]+)";$/gm))
      files.add(join(dirname(file), path!))
  return files
}

it('jfluid --version reads at most 6 files of jfluid, and a recording reads at most 10 before it contacts the target', () => {
  const cli = join(dist, 'cli.js')
  const record = readdirSync(join(dist, 'chunks')).filter((it) => /^record-[\w-]{8}\.js$/.test(it))
  expect(record).toHaveLength(1)
  const files = [readAtOnce(cli).size, readAtOnce(cli, join(dist, 'chunks', record[0]!)).size]
  expect(Math.min(...files)).toBeGreaterThan(2) // otherwise the imports were not found
  expect(files[0]).toBeLessThanOrEqual(6)
  expect(files[1]).toBeLessThanOrEqual(10)
})
