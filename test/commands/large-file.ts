// A profile with very many contexts, and commands that read the profile with a small heap.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'

export interface Size {
  readonly contexts: number
  readonly heapMib: number
}

export const MILLION: Size = { contexts: 1_000_000, heapMib: 256 }

const bounded = ({ heapMib }: Size) => ({ NODE_OPTIONS: `--max-old-space-size=${heapMib}` })

/** Writes a tree of `count` nodes: a root with `wide` children, each of which begins a chain. Node i has i calls. */
const WRITER = `
import { writeProfile } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
const [path, ...sizes] = process.argv.slice(2)
const [wide, count] = sizes.map(Number)
const length = Math.floor((count - 1) / wide)
const methods = Math.max(wide, 1000) // siblings have different methods
const method = new Int32Array(count)
const parent = new Int32Array(count)
const size = new Int32Array(count)
method[0] = 1
parent[0] = -1
size[0] = count
for (let i = 1; i < count; i++) {
  const chain = Math.min(Math.floor((i - 1) / length), wide - 1)
  const first = 1 + chain * length
  const end = chain === wide - 1 ? count : first + length
  method[i] = 2 + ((i - first + chain) % methods)
  parent[i] = i === first ? 0 : i - 1
  size[i] = end - i
}
const calls = Float64Array.from(method, (_, i) => i)
const selfNs = new Float64Array(count).fill(1000)
const totalNs = Float64Array.from(size, (nodes) => nodes * 1000)
const zeros = new Float64Array(count)
const metrics = { calls, selfNs, totalNs, measuredNs: selfNs, warmupCalls: zeros, warmupSelfNs: zeros }
const tree = { count, method, parent, size, metrics }
const name = (i) => ({ class: 'com.acme.Large', method: 'm' + i, descriptor: '()V', loader: 'app' })
await writeProfile({
  target: { pid: 1, jdk: '25', vm: 'vm', mainClass: 'com.acme.Large' },
  mode: 'exact', scheme: 'b', roots: ['com.acme.Large.m1'],
  startedAt: '2026-11-23T05:00:00.000Z', durationMs: 1000,
  calibration: { innerNs: 1, outerNs: 1, clock: 'nanoTime' },
  instrumentation: { instrumentedMethods: 1001, calledMethods: 1001, redefinitions: 1, redefinedClasses: 1,
    hotSwapMs: 1, analysisMs: 1, skipped: [], gaps: 0, healed: 0 },
  warmupMs: 0, truncated: false, warnings: [], events: { count: 2e6, waitMs: 0 },
  methodNames: Array.from({ length: methods + 2 }, (_, i) => name(i)), merged: tree, threads: [{ id: 1, name: 'main', tree }],
}, path)
`

/** @param wide  number of chains below the root */
export function writeLarge(wide: number, size: Size): string {
  const folder = temporaryDirectory()
  const file = join(folder, 'large.jfluid')
  const writer = join(folder, 'write.mjs')
  writeFileSync(writer, WRITER)
  execFileSync(process.execPath, [writer, file, `${wide}`, `${size.contexts}`], {
    env: { ...process.env, ...bounded(size) },
  })
  return file
}

export async function runBounded(size: Size, ...args: string[]): Promise<string> {
  const p = startProcess(process.execPath, [cli, ...args], { env: bounded(size) })
  expect((await p.exit).code, p.stderr()).toBe(0)
  return p.stdout()
}

export async function reports(file: string, size: Size): Promise<void> {
  // One microsecond per context, in milliseconds.
  const ms = `${size.contexts / 1000}`.replace(/\B(?=(\d{3})+$)/g, '[,.]?')
  expect(await runBounded(size, 'report', file)).toMatch(
    new RegExp(`^ *${ms}(?:\\.0+)?\\b.* com\\.acme\\.Large\\.m1$`, 'm'),
  )
}

export async function openShowsTheLastRow(file: string, size: Size): Promise<void> {
  const all = size.contexts.toLocaleString('en-US')
  const terminal = Terminal.jfluid(['open', file], {
    before: `export NODE_OPTIONS=${bounded(size).NODE_OPTIONS}`,
  })
  const position = await terminal.until((lines) => / of [\d,]+$/.exec(lines.at(-2) ?? '')?.[0])
  if (position !== ` of ${all}`) terminal.send('*') // if all rows are already expanded, this key would collapse them
  await terminal.until((lines) => lines.some((line) => line.includes(`of ${all}`)))
  terminal.send('G')
  await terminal.until((lines) => lines.some((line) => line.includes(`${all} of ${all}`)))
  terminal.send('q')
  expect((await terminal.exit).code).toBe(0)
}
