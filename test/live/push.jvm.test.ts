// jfluid record --push: a store receives the expected data, and without a store no data are lost.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { otlpOf } from '../push/otlp-reader.ts'
import { closedPort, ingested, startStore } from '../push/stores.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, newest } from '../support/jdks.ts'
import { callsByPath, cli, jfluid, readProfileJson, stderrLine } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { until } from './remains.ts'

const ORDER = 'fix.Ordered.order'

/** Records three orders of a JVM with these options in a separate directory. */
async function record(jdk: typeof newest, ...options: string[]) {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  const cwd = temporaryDirectory('jfluid-pushed-')
  const args = ['record', `${java.pid}`, '--root', ORDER, '--duration', '10m', ...options]
  const p = startProcess(process.execPath, [cli, ...args], { cwd })
  await stderrLine(p, /recording/)
  for (const seed of [1, 2, 3]) {
    java.send(`order ${seed}`)
    await java.line(new RegExp(`^order ${seed}:`))
  }
  p.child.kill('SIGINT')
  const { code } = await p.exit
  return { code, stderr: p.stderr(), cwd, pid: java.pid }
}

it('--push without --out deletes its temporary file after the upload', async () => {
  const store = await startStore()
  const { code, stderr, cwd } = await record(newest, '--push', `otlp+${store.url}`)
  expect(code, stderr).toBe(0)
  expect(readdirSync(cwd)).toEqual([])
  const { profiles } = otlpOf(store.received[0]!)
  const order = profiles[0]!.samples.find(({ stack }) => stack.join() === ORDER)
  expect(order?.value).toBe(3)
})

forNewestJdk((jdk) => {
  itInFull(
    'a failed push keeps the profile in a file that the error names and that can be pushed later',
    async () => {
      const closed = await closedPort()
      const { code, stderr, cwd, pid } = await record(jdk, '--push', closed, '--label', 'team=a b')
      expect(code, stderr).toBe(75)
      const [file] = readdirSync(cwd)
      expect(file).toMatch(new RegExp(`^jfluid-${pid}-\\d{8}T\\d{6}Z\\.jfluid$`))
      expect(stderr).toContain(`the profile is in ${file}\n`)
      expect(stderr).toContain(`Then: jfluid push ${file} --to ${closed}/ingest --label 'team=a b'\n`)
      expect(stderr).toMatch(/detached from \d+ in/)
      const store = await startStore()
      const later = await jfluid('push', join(cwd, file!), '--to', store.url, '--label', 'a=b')
      expect(later.code, later.stderr).toBe(0)
      expect(later.stderr).toContain(`as fix.Ordered{pid=${pid},mode=exact,a=b}`)
      const { samples } = await ingested(store.received[0]!)
      const { merged } = await readProfileJson(join(cwd, file!))
      // Paths in a file contain descriptors, and paths in a store do not.
      const expected = sums(callsByPath(merged), (path) =>
        path.replaceAll(/\([^;]*?\)(\[*L[^;]*;|[^;]*)/g, ''),
      )
      expect(sums(samples.map(({ stack, values }) => [stack.join(';'), values[0]!]))).toEqual(expected)
      expect(expected.get(ORDER)).toBe(3)
    },
  )
})

function sums(
  calls: Iterable<readonly [string, number]>,
  named = (path: string) => path,
): Map<string, number> {
  const all = new Map<string, number>()
  for (const [path, count] of calls) all.set(named(path), (all.get(named(path)) ?? 0) + count)
  return all
}

itInFull('--push uploads samples of the whole JVM', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/^ready/)
  const store = await startStore()
  const cwd = temporaryDirectory('jfluid-pushed-')
  const args = ['record', `${java.pid}`, '--mode', 'sample', '--every', '20ms']
  const rest = ['--duration', '10m', '--autosave', '100ms', '--push', store.url]
  const p = startProcess(process.execPath, [cli, ...args, ...rest], { cwd })
  // An autosave is written only if there are samples.
  await until(() => readdirSync(cwd).some((name) => name.endsWith('.autosave')))
  p.child.kill('SIGINT')
  const { code } = await p.exit
  expect(code, p.stderr()).toBe(0)
  const { types, samples } = await ingested(store.received[0]!)
  expect(types).toEqual(['calls/count', 'samples/count'])
  expect(samples.some(({ stack }) => stack.some((frame) => frame.startsWith('fix.Ticker$Worker.')))).toBe(
    true,
  )
  expect(readdirSync(cwd)).toEqual([])
})
