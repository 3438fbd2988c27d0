// jfluid record --stream, read by another program.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { cli, type JsonNode, jfluid, readProfileJson, startJfluid, stderrLine } from '../support/jfluid.ts'

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

/** Returns the nodes with their figures and depth, depth first. */
function treeIn(lines: readonly Line[]): string[] {
  return lines.flatMap(({ nodes = [] }) => nodes).map((it) => `${it.depth} ${textOf(it)}`)
}

function treeOf(nodes: readonly JsonNode[], depth = 0): string[] {
  return nodes.flatMap((it) => [`${depth} ${textOf(it)}`, ...treeOf(it.children, depth + 1)])
}

/** Returns all members of a node except its children and depth. */
function textOf(node: JsonNode): string {
  return JSON.stringify(Object.entries(node).filter(([key]) => key !== 'children' && key !== 'depth'))
}

const SNAPSHOT = /"kind":"snapshot".*"method":"order"/

const callsIn = (text: string): number => callsOf(JSON.parse(text) as Line)

/** Returns the calls of the root. */
function callsOf({ methods = [] }: Line): number {
  return methods.find((it) => it.method === 'order')?.calls ?? 0
}

it('the sum of streamed snapshots is the profile', async () => {
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
  java.send('order 5') // no snapshot contains this order before the recording ends
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

it('a stream of allocations ends with the same tree as the profile, although method numbers differ', async () => {
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

it('a stream reader that exits ends the recording, and the profile is kept', async () => {
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
  expect(recording.stderr()).toMatch(/ending: the reader of the stream has closed it/)
  const { code, stdout } = await jfluid('report', file)
  expect(code).toBe(0)
  expect(stdout).toMatch(/1 call of the root in 1 thread/)
})

it('a stream reader that stalls does not delay the end of the recording', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  const directory = temporaryDirectory('jfluid-stream-')
  const [file, pipe] = [join(directory, 'p.jfluid'), join(directory, 'pipe')]
  execFileSync('mkfifo', [pipe])
  const reading = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const stdout = openSync(pipe, constants.O_WRONLY)
  const full = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
  for (const bytes of [65_536, 1]) expect(() => fill(full, bytes)).toThrow('EAGAIN')
  // This process shares the pipe. At its end it restores the blocking mode that it found at its start.
  const other = startProcess(
    process.execPath,
    ['--eval', 'process.stdout; process.stdin.resume(); console.error("ready")'],
    { stdout },
  )
  await stderrLine(other, /ready/)
  const command = ['record', String(java.pid), '--root', 'fix.Ordered.order', '--duration', '10m', '--out']
  const recording = startProcess(process.execPath, [cli, ...command, file, '--stream'], { stdout })
  await stderrLine(recording, /root fix/)
  other.child.stdin?.end()
  await other.exit
  java.send('order 7')
  await java.line(/^order 7:/)
  recording.child.kill('SIGINT')
  expect([(await recording.exit).code, recording.stderr().match(/ending: .*/)?.[0]]).toEqual([
    ...[0, 'ending: received SIGINT'],
  ])
  for (const descriptor of [reading, stdout, full]) closeSync(descriptor)
  expect((await readProfileJson(file)).merged[0]).toMatchObject({ method: 'order', calls: 1 })
})

/** Writes blocks of this size until the pipe is full. */
function fill(descriptor: number, bytes: number): void {
  for (const some = Buffer.alloc(bytes); ; ) writeSync(descriptor, some)
}

it('--stream without a root is refused', async () => {
  const { code, stderr } = await jfluid('record', '1', '--mode', 'sample', '--out', '/nowhere/p', '--stream')
  expect(stderr).toMatch(/--stream needs a root/)
  expect(code).toBe(64)
})
