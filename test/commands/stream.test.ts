import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LineWriter } from '../../src/commands/stream/line-writer.ts'
import { type LineSink, RecordingStream, type Streamed } from '../../src/commands/stream/recording-stream.ts'
import { Methods, profileOf, treeOf } from '../profile/trees.ts'

describe('lines for a reader that is slow', () => {
  let directory: string
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'jfluid-stream-'))
    execFileSync('mkfifo', [join(directory, 'pipe')])
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  function pipe(): { reading: number; writing: number } {
    const path = join(directory, 'pipe')
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    return { reading, writing: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) }
  }

  function readAll(descriptor: number): string {
    const buffer = Buffer.alloc(1 << 20)
    try {
      return buffer.toString('utf8', 0, readSync(descriptor, buffer))
    } catch {
      return '' // nothing yet
    }
  }

  it('come whole and in their order, and nobody waits for it', async () => {
    const { reading, writing } = pipe()
    const out = new LineWriter(writing)
    const long = 'x'.repeat(200_000) // three times what a pipe holds
    out.line('first')
    out.line(long)
    out.line('last')
    expect(out.isBusy).toBe(true)
    let text = ''
    while (!text.endsWith('last\n')) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      text += readAll(reading)
    }
    expect(text).toBe(`first\n${long}\nlast\n`)
    await vi.waitFor(() => expect(out.isBusy).toBe(false), { timeout: 30_000 })
    closeSync(reading)
    closeSync(writing)
  })

  it('are not waited for longer than was said', async () => {
    const { reading, writing } = pipe()
    const out = new LineWriter(writing)
    out.line('x'.repeat(200_000))
    await out.flush(50)
    expect(out.isBusy).toBe(true)
    closeSync(reading)
    expect(await out.gone).toBe('EPIPE')
    closeSync(writing)
  })

  it('end with the reader, who is told of', async () => {
    const { reading, writing } = pipe()
    const out = new LineWriter(writing)
    closeSync(reading)
    out.line('nobody reads this')
    expect(await out.gone).toBe('EPIPE')
    out.line('nor this')
    await out.flush(30_000)
    expect(out.isBusy).toBe(false)
    closeSync(writing)
  })
})

describe('a recording that is streamed', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const methods = new Methods()
  const trees = [
    treeOf('main 1x 10ns ( work 2x 54ns )', methods),
    treeOf('main 1x 30ns ( work 2x 54ns )', methods),
    treeOf('main 3x 40ns ( work 2x 54ns late 1x 5ns )', methods),
  ]

  function session() {
    let pictures = 0
    const installation = { redefinitions: 2, hotSwapMs: 20 }
    const warnings: string[] = []
    const it: Streamed = {
      ...{ pid: 4711, mode: 'exact', scheme: 'b', rootNames: ['App.main'], timesRegions: false },
      target: { version: '17.0.15', command: 'com.acme.Main --flag' },
      engine: { installation },
      status: async () => ({
        ...{ phase: 'recording', instrumentedMethods: 3, calledMethods: 2, events: 10, waitMs: 1 },
        ...{ elapsedMs: performance.now(), isBare: false, rounds: 0, message: null, notes: [], skipped: [] },
        warnings,
      }),
      snapshot: async () => ({
        ...{ merged: trees[Math.min(pictures++, 2)]!, threads: [], events: 10, waitNs: 0, healed: 0 },
      }),
      regions: async () => [],
      methodName: (id) => methods.names[id]!,
    }
    return { it, installation, warnings }
  }

  function sink() {
    const lines: Record<string, unknown>[] = []
    const state = { isBusy: false }
    const out: LineSink = {
      line: (text) => void lines.push(JSON.parse(text) as Record<string, unknown>),
      flush: async () => {},
      gone: new Promise(() => {}),
      get isBusy() {
        return state.isBusy
      },
    }
    return { lines, state, out }
  }

  const kinds = (lines: readonly Record<string, unknown>[]) => lines.map((it) => it.kind)

  it('says that it has begun, what was called since the last time, and why it has ended', async () => {
    const { it: streamed } = session()
    const { lines, out } = sink()
    const stream = new RecordingStream(streamed, out)
    expect(lines[0]).toMatchObject({
      ...{ kind: 'started', version: 1, pid: 4711, jdk: '17.0.15', mainClass: 'com.acme.Main' },
      ...{ mode: 'exact', scheme: 'b', roots: ['App.main'] },
    })
    await vi.advanceTimersByTimeAsync(3100)
    const snapshots = lines.filter((it) => it.kind === 'snapshot')
    const told = snapshots.map((it) =>
      (it.methods as { method: string; calls: number; selfNs: number; totalNs: number }[])
        .map((m) => `${m.method} ${m.calls}x ${m.selfNs} ${m.totalNs}`)
        .join(', '),
    )
    expect(told).toEqual(['work 2x 54 54, main 1x 10 64', 'main 0x 20 20', 'main 2x 10 15, late 1x 5 5'])
    expect(snapshots[1]!.sinceMs).toBe(snapshots[0]!.atMs)
    await stream.stop()
    await vi.advanceTimersByTimeAsync(5000)
    await stream.ended(profileOf('main 1x 10ns', { warnings: ['one'] }), 'the time is over', 'p.jfluid')
    expect(kinds(lines)).toEqual(['started', 'snapshot', 'snapshot', 'snapshot', 'warning', 'ended'])
    expect(lines.at(-1)).toMatchObject({ why: 'the time is over', file: 'p.jfluid', truncated: false })
  })

  it('tells each warning once, and each redefinition', async () => {
    const { it: streamed, installation, warnings } = session()
    const { lines, out } = sink()
    const stream = new RecordingStream(streamed, out)
    warnings.push('a warning')
    await vi.advanceTimersByTimeAsync(600)
    Object.assign(installation, { redefinitions: 3, hotSwapMs: 25 })
    await vi.advanceTimersByTimeAsync(300)
    await stream.stop()
    await stream.ended(profileOf('main 1x 10ns', { warnings: ['a warning'] }), 'why', 'p')
    expect(kinds(lines)).toEqual(['started', 'warning', 'redefinition', 'ended'])
    expect(lines[2]).toMatchObject({ redefinitions: 3, hotSwapMs: 25, instrumentedMethods: 3 })
  })

  it('leaves snapshots out for a reader that is behind, and tells all of them in the next', async () => {
    const { it: streamed } = session()
    const { lines, state, out } = sink()
    const stream = new RecordingStream(streamed, out)
    await vi.advanceTimersByTimeAsync(1100)
    state.isBusy = true
    await vi.advanceTimersByTimeAsync(5000)
    expect(kinds(lines)).toEqual(['started', 'snapshot'])
    state.isBusy = false
    await vi.advanceTimersByTimeAsync(1000)
    expect(kinds(lines)).toEqual(['started', 'snapshot', 'snapshot'])
    expect(lines[2]!.sinceMs).toBe(lines[1]!.atMs)
    await stream.stop()
  })
})
