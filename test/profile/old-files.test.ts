// Files of earlier versions can be opened, and show the numbers of these versions: see files/README.md.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeProfile, readProfile, VERSION } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { reportPieces } from '../../src/profile/report.ts'
import { tellsUntimed } from '../../src/profile/untimed-calls.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { callsByPath, type JsonNode, type JsonProfile, lines, sumsAreExact } from '../support/jfluid.ts'

const folder = fileURLToPath(new URL('./files', import.meta.url))
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.jfluid'))
  .map((name) => name.replace('.jfluid', ''))

async function jsonOf(name: string): Promise<JsonProfile> {
  const profile = await readProfile(join(folder, `${name}.jfluid`))
  return JSON.parse([...jsonPieces(profile)].join('')) as JsonProfile
}

/** Returns all nodes. Uses no recursion. */
function nodesOf(roots: readonly JsonNode[]): JsonNode[] {
  const all = [...roots]
  for (const node of all) all.push(...node.children)
  return all
}

/** Keys of removed options, which are not read. */
const REMOVED: ReadonlySet<string> = new Set([
  ...['errorBars', 'selfErrorNs', 'errorNs', 'proof', 'lookAhead', 'rare'],
  ...['overhead', 'countedCalls', 'extrapolatedCalls', 'counted', 'folded'],
])

/** Returns the places where a value of the old output is missing or different in the new output. */
function missing(old: unknown, now: unknown, where = ''): string[] {
  if (typeof old !== 'object' || old === null)
    return Object.is(old, now) ? [] : [`${where}: ${old}, now ${now}`]
  if (typeof now !== 'object' || now === null) return [`${where}: now ${now}`]
  if (Array.isArray(old) && old.length !== (now as unknown[]).length) return [`${where}: another length`]
  return Object.entries(old).flatMap(([key, value]) =>
    REMOVED.has(key) ? [] : missing(value, (now as Record<string, unknown>)[key], `${where}/${key}`),
  )
}

describe.each(names)('the old file %s', (name) => {
  const format = Number(name[1])

  it('the file %s has the format version in its name', () => {
    expect(readFileSync(join(folder, `${name}.jfluid`)).readUInt32LE(8)).toBe(format)
    expect(format).toBeLessThanOrEqual(VERSION)
  })

  it('every export of the file contains all data that the jfluid version of the file exported', async () => {
    const exported = gunzipSync(readFileSync(join(folder, `${name}.json.gz`))).toString()
    const { warnings, ...json } = await jsonOf(name)
    const now = { ...json, warnings: warnings.filter((it) => !tellsUntimed(it)) }
    expect(missing(JSON.parse(exported), now)).toEqual([])
  })

  it('the report of the file can be shown', async () => {
    const report = [...reportPieces(await readProfile(join(folder, `${name}.jfluid`)), { top: 5 })].join('')
    expect(report).toMatch(/^jfluid profile of fix\.(?:KnownTree|Allocs|Regions|Ticker|Dense|Slow|Sampled)$/m)
  })
})

const KNOWN = parseExpectation(readFileSync(join(folder, 'known-tree.txt'), 'utf8'))

it.each(['v1-exact', 'v1-waits', 'v1-budget', 'v2-bytecodes', 'v2-call-sites'])(
  'the old file %s contains the calls that the program made',
  async (name) => {
    const { merged } = await jsonOf(name)
    const calls = [...callsByPath(merged)].filter(([path]) => !/(?:^|;)\(/.test(path))
    expect(lines(new Map(calls))).toEqual(lines(KNOWN))
    if (merged[0]?.totalNs !== undefined) expect(sumsAreExact(merged)).toBe(true)
  },
)

it('the file v1-error-bars opens, and the data of --error-bars and --proof are ignored', async () => {
  const profile = await readProfile(join(folder, 'v1-error-bars.jfluid'))
  const keys = new Set<string>()
  JSON.stringify(profile, (key, value) => {
    keys.add(key)
    return value
  })
  expect([...keys]).toContain('measuredNs')
  expect([...keys].filter((key) => REMOVED.has(key))).toEqual([])
  const { merged } = await jsonOf('v1-error-bars')
  const [work, ...others] = merged
  expect([others, work!.method, work!.children.map(({ method }) => method)]).toEqual([[], 'work', ['nap']])
  expect(work!.calls).toBe(work!.children[0]!.calls)
  expect(sumsAreExact(merged)).toBe(true)
})

it('the file v1-folded opens with a warning about calls that were not timed', async () => {
  const { merged, warnings } = await jsonOf('v1-folded')
  expect(nodesOf(merged).map(({ method, calls }) => `${method} ${calls}`)).toEqual([
    ...['root 61242', 'work 61242', 'middle 3062050', 'twig 1211000', 'leaf 2675200'],
  ])
  const warning =
    'not timed because of --max-overhead of an earlier version: calls of 2 methods; their rows do not contain these calls, ' +
    'and the time counts for their callers: fix.Dense.leaf (16,700,800 counted, about 176,595,200 not counted), fix.Dense.twig (11,037,200 counted)'
  expect(warnings).toEqual([warning])
  const report = [...reportPieces(await readProfile(join(folder, 'v1-folded.jfluid')), {})].join('')
  expect(report.replace(/\s+/g, ' ')).toContain(warning)
})

it('each sample in the file v2-sample is counted once', async () => {
  const { merged, sampling } = await jsonOf('v2-sample')
  expect(sampling?.samples).toBeGreaterThan(0)
  expect(nodesOf(merged).reduce((sum, node) => sum + (node.selfSamples ?? 0), 0)).toBe(sampling?.samples)
})

it('each sample in the file v2-sample-time is counted once, and the report shows the delay of the samples', async () => {
  const { merged, sampling } = await jsonOf('v2-sample-time')
  expect(sampling).toMatchObject({ unit: 'ns', by: 'probes', every: 100_000 })
  expect(nodesOf(merged).reduce((sum, node) => sum + (node.selfSamples ?? 0), 0)).toBe(sampling?.samples)
  const report = [...reportPieces(await readProfile(join(folder, 'v2-sample-time.jfluid')), { top: 5 })].join(
    '',
  )
  expect(report).toMatch(/latency +samples were taken after their due time by \S+ \S+ \(median\)/)
})

it('the file v3-alloc has the correct object sizes', async () => {
  const { merged, allocation } = await jsonOf('v3-alloc')
  const own = nodesOf(merged).flatMap((node) => node.allocated ?? [])
  const points = own.filter((each) => each.class === 'fix.Allocs$Point')
  expect(points.length).toBeGreaterThan(0)
  for (const { objects, bytes } of points) expect(bytes).toBe(objects * 24)
  expect(own.reduce((sum, each) => sum + each.bytes, 0)).toBe(allocation?.siteBytes)
})

it('the file v3-regions has 100 executions of a region, 50 by each of two threads', async () => {
  const { regions = [] } = await jsonOf('v3-regions')
  expect(regions.map(({ class: name, method, count }) => [`${name}.${method}`, count])).toEqual([
    ['fix.Regions.tick', 100],
  ])
  expect(regions[0]?.buckets.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(100)
})

it('the file v1-slow keeps the slow calls of its version, also those below the threshold', async () => {
  const { rootCalls, slowCalls } = await jsonOf('v1-slow')
  const { slowest, count } = slowCalls!
  const p99 = rootCalls!.percentiles['99']!
  expect(count).toBe(3)
  expect(slowest.map(({ time }) => time)).toEqual(slowest.map(({ time }) => time).toSorted((a, b) => b - a))
  expect(slowest.filter(({ time }) => time < 0.99 * p99)).toHaveLength(7)
  for (const { time, roots } of slowest) expect(Math.abs(roots[0]!.totalNs - time)).toBeLessThan(1)
})

it('the file v1-adaptive has one timed row, and sampled rows below it whose times sum to that of the timed row', async () => {
  const { merged } = await jsonOf('v1-adaptive')
  const nodes = nodesOf(merged)
  expect(nodes.filter(({ known }) => known !== 'sampled').map(({ method }) => method)).toEqual(['serve'])
  const [serve] = merged
  expect(serve!.children.map(({ method }) => method).toSorted()).toEqual(['down', 'heavy'])
  const below = nodes.reduce((sum, { selfNs }) => sum + selfNs, 0)
  expect(Math.abs(below - serve!.totalNs)).toBeLessThan(1e-6 * serve!.totalNs)
})

it('a file of a later format is refused with a hint, whatever its contents', () => {
  for (const name of names) {
    const file = readFileSync(join(folder, `${name}.jfluid`))
    file.writeUInt32LE(VERSION + 1, 8)
    expect(() => decodeProfile(file, 'p.jfluid')).toThrow(
      expect.objectContaining({
        name: 'NewerProfile',
        exitCode: 65,
        hint: expect.stringContaining('update'),
      }),
    )
  }
})
