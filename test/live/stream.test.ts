// jfluid record --stream, as another program reads it.

import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { type JsonNode, jfluid, readProfileJson, startJfluid } from '../support/jfluid.ts'

interface Line {
  readonly kind: string
  readonly atMs?: number
  readonly sinceMs?: number
  readonly pid?: number
  readonly methods?: readonly {
    readonly method: string
    readonly calls: number
    readonly selfNs: number
    readonly bytes?: number
  }[]
  readonly nodes?: readonly (JsonNode & { readonly depth: number })[]
  readonly why?: string
  readonly file?: string
  readonly events?: number
}

function linesOf(recording: { stdout(): string }): Line[] {
  return recording
    .stdout()
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as Line)
}

/** Nodes with their numbers and how deep they lie, depth first. */
function treeIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ nodes = [] }) => nodes).map((it) => `${it.depth} ${textOf(it)}`)
}

function treeOf(nodes: readonly JsonNode[], depth = 0): string[] {
  return nodes.flatMap((it) => [`${depth} ${textOf(it)}`, ...treeOf(it.children, depth + 1)])
}

/** All but how it stands to others. */
function textOf(node: JsonNode): string {
  return JSON.stringify(Object.entries(node).filter(([key]) => key !== 'children' && key !== 'depth'))
}

const SNAPSHOT = /"kind":"snapshot".*"method":"order"/

const callsIn = (text: string): number => callsOf(JSON.parse(text) as Line)

/** Calls of the root. */
function callsOf({ methods = [] }: Line): number {
  return methods.find((it) => it.method === 'order')?.calls ?? 0
}

it('tells what is recorded while it is, and the sum of that is the profile', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  const file = `${temporaryDirectory('jfluid-stream-')}/p.jfluid`
  const root = ['--root', 'fix.Ordered.order', '--duration', '10m', '--out', file, '--stream']
  const recording = startJfluid('record', String(java.pid), ...root)
  expect(JSON.parse(String(await recording.line(/"started"/)))).toMatchObject({ pid: java.pid, version: 1 })
  for (const seed of [1, 2, 3]) {
    java.send(`order ${seed}`)
    await java.line(new RegExp(`^order ${seed}:`))
  }
  let calls = 0
  for (let nth = 1; calls < 3; nth++) calls += callsIn(await recording.line(SNAPSHOT, nth))
  java.send('order 4')
  await java.line(/^order 4:/)
  calls = 0
  for (let nth = 1; calls < 4; nth++) calls += callsIn(await recording.line(SNAPSHOT, nth))
  java.send('order 5') // of which no snapshot has told when the end comes
  await java.line(/^order 5:/)
  recording.child.kill('SIGINT')
  expect((await recording.exit).code).toBe(0)
  const lines = linesOf(recording)
  expect(lines[0]!.kind).toBe('started')
  const profile = await readProfileJson(file)
  expect(lines.at(-1)).toMatchObject({ kind: 'ended', file, events: profile.events.count })
  expect(lines.reduce((sum, it) => sum + callsOf(it), 0)).toBe(5)
  expect(treeIn(lines)).toEqual(treeOf(profile.merged))
  const before = lines.filter((it) => it.kind === 'snapshot')
  for (const [i, it] of before.entries()) expect(it.sinceMs).toBe(before[i - 1]?.atMs ?? 0)
})

it('of allocations, whose methods have other numbers in the profile, it ends with the same tree', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  const file = `${temporaryDirectory('jfluid-stream-')}/p.jfluid`
  const root = ['--root', 'fix.Ordered.order', '--duration', '10m', '--out', file, '--stream']
  const recording = startJfluid('record', String(java.pid), ...root, '--mode', 'alloc')
  await recording.line(/"started"/)
  java.send('order 1')
  await java.line(/^order 1:/)
  await recording.line(SNAPSHOT)
  java.send('order 22')
  await java.line(/^order 22:/)
  recording.child.kill('SIGINT')
  expect((await recording.exit).code).toBe(0)
  const lines = linesOf(recording)
  const profile = await readProfileJson(file)
  expect(treeIn(lines)).toEqual(treeOf(profile.merged))
  const bytes = new Map<string, number>()
  for (const { methods = [] } of lines)
    for (const it of methods) bytes.set(it.method, (bytes.get(it.method) ?? 0) + (it.bytes ?? 0))
  for (const { method, descriptor, ...sums } of profile.methods)
    if (descriptor !== '')
      expect([method, bytes.get(method)]).toEqual([method, (sums as { bytes?: number }).bytes])
})

it('a reader that goes away ends the recording, and the profile is kept', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  const file = `${temporaryDirectory('jfluid-stream-')}/p.jfluid`
  const root = ['--root', 'fix.Ordered.order', '--duration', '10m', '--out', file, '--stream']
  const recording = startJfluid('record', String(java.pid), ...root)
  await recording.line(/"started"/)
  java.send('order 7')
  await java.line(/^order 7:/)
  recording.child.stdout?.destroy()
  expect((await recording.exit).code).toBe(0)
  expect(recording.stderr()).toMatch(/ending: nobody reads the stream any more/)
  const { code, stdout } = await jfluid('report', file)
  expect(code).toBe(0)
  expect(stdout).toMatch(/1 of the root in 1 thread/)
})

it('of a whole JVM there is none', async () => {
  const { code, stderr } = await jfluid('record', '1', '--mode', 'sample', '--out', '/nowhere/p', '--stream')
  expect(stderr).toMatch(/--stream tells of the calls of a root/)
  expect(code).toBe(64)
})
