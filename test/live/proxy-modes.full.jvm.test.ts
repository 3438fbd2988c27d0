// For each mode, the live view of a remote JVM receives only differences, and must still equal the final profile.

import { expect, it, onTestFinished, vi } from 'vitest'
import type { MethodName, Tree } from '../../src/cct/tree.ts'
import { RemoteSession } from '../../src/commands/remote-session.ts'
import { remoteSource } from '../../src/commands/remote-source.ts'
import type { SessionFlags } from '../../src/options/table.ts'
import { remoteAddress } from '../../src/remote/address.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { machine } from './proxy.ts'

const MODES: readonly (readonly [string, Partial<SessionFlags>])[] = [
  ['exact', {}],
  ['exact --call-sites', { callSites: true }],
  ['exact --max-contexts 1000', { maxContexts: 1000 }],
  ['bytecodes', { mode: 'bytecodes' }],
  ['count', { mode: 'count' }],
  ['alloc', { mode: 'alloc', sampleEvery: 1 }],
  ['locks', { mode: 'locks' }],
  ['exact --scheme adaptive', { scheme: 'adaptive', time: ['KnownTree.mix', 'KnownTree.leaf'] }],
]

forEachJdk((jdk) => {
  it.each(MODES)('the live view of a remote JVM equals the final profile in mode %s', async (_, more) => {
    const { env } = machine()
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    onTestFinished(() => void vi.unstubAllEnvs())
    const classes = await compileFixture(jdk, 'KnownTree')
    const java = startJava(jdk, ['-cp', classes, 'fix.KnownTree', '4', '50'])
    await java.line(/ready/)
    const caller = await RemoteSession.reach(remoteAddress(`ssh://there/${java.pid}`)!)
    onTestFinished(async () => void (await caller.leave()))
    await RemoteSession.find(caller, String(java.pid))
    const plain = { scheme: 'b' } as const
    const session = await RemoteSession.start(caller, java.pid, {
      ...plain,
      root: ['fix.KnownTree.task'],
      ...more,
    })
    const source = remoteSource(session)
    for (let round = 1; round <= 3; round++) {
      await source.snapshot(round === 2)
      java.send('run 1')
      await java.line(/done/, round)
    }
    const events = Number((await session.status()).events)
    let seen = await source.snapshot(true)
    await vi.waitUntil(
      async () => {
        seen = await source.snapshot(true)
        return source.status().remote?.pending === 0 && source.status().events >= events
      },
      { timeout: 20_000 },
    )
    const { profile } = await session.finish()
    const expected = linesOf(profile.merged, (id) => profile.methodNames[id]!)
    expectSame(linesOf(seen.merged, source.methodName), expected)
    const threads = seen.threads.map(({ tree }) => tree.count)
    expect(threads).toEqual(profile.threads.map(({ tree }) => tree.count))
  })
})

interface Line {
  readonly path: string
  readonly column: string
  readonly value: number
}

/** Returns all rows with their paths and counts. Total times are rounded, since they are sums of fractions of nanoseconds in a profile. */
function linesOf({ count, method, parent, metrics }: Tree, nameOf: (id: number) => MethodName): Line[] {
  const paths: string[] = []
  return Array.from({ length: count }, (_, i) => {
    const name = nameOf(method[i]!)
    const own = `${name.class}.${name.method}${name.descriptor}@${name.bci ?? ''}`
    const path = `${parent[i]! < 0 ? '' : `${paths[parent[i]!]};`}${own}`
    paths[i] = path
    const columns = Object.keys(metrics).filter((it) => it !== 'totalNs')
    return columns.sort().map((column) => ({ path, column, value: metrics[column]![i]! }))
  })
    .flat()
    .sort((a, b) => (`${a.path} ${a.column}` < `${b.path} ${b.column}` ? -1 : 1))
}

/** Expects equal lines. Only times may differ by one, since the protocol transfers whole nanoseconds. */
function expectSame(seen: readonly Line[], expected: readonly Line[]): void {
  const isTime = (column: string): boolean => column.endsWith('Ns')
  const known = (lines: readonly Line[]) =>
    lines.map(({ path, column, value }) => (isTime(column) ? { path, column } : { path, column, value }))
  expect(known(seen)).toEqual(known(expected))
  expect(seen.length).toBeGreaterThan(0)
  const apart = seen.filter(({ value }, i) => Math.abs(value - expected[i]!.value) > 1)
  expect(apart).toEqual([])
}
