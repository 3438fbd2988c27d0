// Four endpoints of a Spring Boot service under load (test/bench/servers/desk.mjs), each with a problem for some values of its parameters:
// a slow query, a contended lock, a late answer of another service, an exception. One recording names each problem by its value.
//
// Builds the service with mvn once.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type JsonNode, jfluid, readProfileJson } from '../support/jfluid.ts'

const DESK = fileURLToPath(new URL('../bench/servers/desk.mjs', import.meta.url))
const ROOTS = ['ReportController.report', 'StockController.stock', 'QuoteController.quote']
const THROWING = 'CheckoutController.checkout'

/** Returns the mean duration of the calls of a root, in ms, per value. */
function meansOf(merged: readonly JsonNode[], root: string): Map<string, number> {
  const [found] = merged.filter((it) => `${it.class}.${it.method}` === `desk.${root}`)
  return new Map(found!.children.map((it) => [it.method, it.totalNs / it.calls / 1e6]))
}

/** Returns the values whose calls take longest, on average. */
function longest(means: ReadonlyMap<string, number>, count: number): string[] {
  const sorted = [...means].sort(([, a], [, b]) => b - a)
  return sorted
    .slice(0, count)
    .map(([value]) => value)
    .sort()
}

forEachJdk((jdk) => {
  describe('problems of a service', () => {
    it('each problem is named by the value that it depends on', { timeout: 600_000 }, async () => {
      const file = join(temporaryDirectory('jfluid-desk-'), 'desk.jfluid')
      const service = startProcess(process.execPath, [DESK, '--jdk', `${jdk.version}`, '--rate', '10'])
      try {
        const [, pid] = /^process (\d+)/.exec(await service.line(/^process \d+/))!
        const roots = [...ROOTS, THROWING].flatMap((it) => ['--root', `desk.${it}`])
        const options = ['--by', 'arg0', '--slow', '100ms,threw', '--duration', '30s', '--yes']
        const recorded = await jfluid('record', pid!, ...roots, ...options, '--out', file)
        expect(recorded.code, recorded.stderr).toBe(0)
      } finally {
        service.child.kill('SIGTERM') // ends the service and its load
        await service.exit
      }
      const { merged, rootCalls, slowCalls } = await readProfileJson(file)

      const [reports, stocks, quotes] = ROOTS.map((it) => meansOf(merged, it))
      expect(longest(reports!, 2)).toEqual(['by=globex', 'by=initech'])
      expect(longest(stocks!, 1)).toEqual(['by=rotterdam'])
      expect(longest(quotes!, 1)).toEqual(['by=JPY'])

      const { threw } = slowCalls!
      expect(rootCalls!.threw!.map((it) => it.class)).toEqual(['java.util.NoSuchElementException'])
      expect(threw!.length).toBeGreaterThan(0)
      for (const call of threw!)
        expect(call).toMatchObject({ class: 'desk.CheckoutController', by: 'SPRING' })
      const traced = [...slowCalls!.slowest, ...threw!].filter((it) => it.traceId !== undefined)
      expect(traced.length).toBeGreaterThan(0)
      for (const call of traced) expect(call.traceId).toMatch(/^[0-9a-f]{32}$/)
    })
  })
})
