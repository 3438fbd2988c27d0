import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LineWriter } from '../../src/commands/stream/line-writer.ts'
import { type LineSink, RecordingStream, type Streamed } from '../../src/commands/stream/recording-stream.ts'
import { Methods, profileOf, profileOfTree, randomTree, seeded, treeOf } from '../profile/trees.ts'
import { startProcess } from '../support/java-process.ts'
import { moduleUrl } from '../support/modules.mjs'
import { Terminal } from '../support/terminal.ts'

const LINE_WRITER = await moduleUrl('commands/stream/line-writer.js')

describe('lines written for a slow reader of a stream', () => {
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

  it('lines written for a slow reader arrive complete and in order without blocking jfluid', async () => {
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

  it('lines written for a slow reader are flushed until the timeout and not longer', async () => {
    const { reading, writing } = pipe()
    const out = new LineWriter(writing)
    out.line('x'.repeat(200_000))
    await out.flush(50)
    expect(out.isBusy).toBe(true)
    closeSync(reading)
    expect(await out.gone).toBe('EPIPE')
    closeSync(writing)
  })

  it('lines written for a slow reader are flushed without timeout while the reader makes progress', async () => {
    const { reading, writing } = pipe()
    const out = new LineWriter(writing)
    out.line('x'.repeat(2_000_000))
    let text = ''
    const reader = setInterval(() => {
      text += readAll(reading)
    }, 60)
    expect(await out.flush(1500)).toBe(true) // 30 times what a pipe holds, one each time
    clearInterval(reader)
    text += readAll(reading)
    expect(text.length).toBe(2_000_001)
    closeSync(reading)
    closeSync(writing)
  })

  it('lines written for a slow reader are dropped on close after the part that was already read', async () => {
    const { reading, writing } = pipe()
    const out = new LineWriter(writing)
    out.line('x'.repeat(200_000))
    await out.flush(50)
    out.close()
    await vi.waitFor(() => expect(out.isBusy).toBe(false), { timeout: 30_000 })
    closeSync(writing)
    let text = ''
    for (let more = readAll(reading); more !== ''; more = readAll(reading)) text += more
    expect(text.length).toBeGreaterThan(0)
    expect(text.length).toBeLessThan(200_000)
    expect(readSync(reading, Buffer.alloc(1))).toBe(0) // all writing ends are closed
    out.line('after the end')
    closeSync(reading)
  })

  it('lines written for a slow reader do not keep the process alive if the reader stalls on a blocking or non-blocking descriptor', async () => {
    const { reading, writing } = pipe()
    const blocking = openSync(join(directory, 'pipe'), constants.O_WRONLY)
    const program = `
      import { LineWriter } from '${LINE_WRITER}'
      const out = new LineWriter(1)
      out.line('x'.repeat(200_000))
      console.error(await out.flush(50))
      out.close()`
    const p = startProcess(process.execPath, ['--input-type=module', '--eval', program], { stdout: blocking })
    expect([(await p.exit).code, p.stderr()]).toEqual([0, 'false\n'])
    for (const descriptor of [reading, writing, blocking]) closeSync(descriptor)
  })

  it('lines written for a slow reader do not keep the process alive if Ctrl-S has stopped the terminal', async () => {
    const program = `
      import { once } from 'node:events'
      import { LineWriter } from '${LINE_WRITER}'
      const out = new LineWriter(1)
      out.line('ready')
      await once(process.stdin, 'data')
      out.line('nobody sees this')
      process.exitCode = (await out.flush(50)) ? 1 : 42
      out.close()
      process.stdin.destroy()`
    const terminal = new Terminal([process.execPath, '--input-type=module', '--eval', program])
    await terminal.until((lines) => lines.includes('ready'))
    terminal.send('\x13go\r')
    expect((await terminal.exit).code).toBe(42)
  })

  it('lines written for a slow reader are written unchanged to a file and to a socket', async () => {
    const program = `
      import { LineWriter } from '${LINE_WRITER}'
      const out = new LineWriter(1)
      out.line('x'.repeat(500_000))
      out.line('last')
      console.error(await out.flush(30_000))
      out.close()`
    const text = `${'x'.repeat(500_000)}\nlast\n`
    const file = openSync(join(directory, 'file'), 'w')
    for (const stdout of [undefined, file]) {
      const more = stdout === undefined ? {} : { stdout }
      const p = startProcess(process.execPath, ['--input-type=module', '--eval', program], more)
      expect([(await p.exit).code, p.stderr()]).toEqual([0, 'true\n'])
      expect(
        (stdout === undefined ? p.stdout() : readFileSync(join(directory, 'file'), 'utf8')) === text,
      ).toBe(true)
    }
    closeSync(file)
  })

  it('lines written for a slow reader are discarded after the reader has exited, and the exit is reported', async () => {
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
    const state = { isBusy: false, isClosed: false }
    const out: LineSink = {
      line: (text) => void lines.push(JSON.parse(text) as Record<string, unknown>),
      flush: async () => !state.isBusy,
      close: () => {
        state.isClosed = true
      },
      gone: new Promise(() => {}),
      get isBusy() {
        return state.isBusy
      },
    }
    return { lines, state, out }
  }

  const kinds = (lines: readonly Record<string, unknown>[]) => lines.map((it) => it.kind)

  it('a recording that is streamed reports its start, the calls since the last snapshot, and why it ended', async () => {
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
    expect(kinds(lines)).toEqual([
      ...['started', 'snapshot', 'snapshot', 'snapshot', 'warning', 'snapshot', 'tree', 'ended'],
    ])
    expect(lines.at(-1)).toMatchObject({ why: 'the time is over', file: 'p.jfluid', truncated: false })
  })

  it('a recording that is streamed ends with the calls since the last snapshot, even if method ids have changed', async () => {
    const { it: streamed } = session()
    const { lines, out } = sink()
    const stream = new RecordingStream(streamed, out)
    await vi.advanceTimersByTimeAsync(1100) // main 1x 10, work 2x 54
    await stream.stop()
    const others = new Methods()
    const merged = treeOf('work 1x 1ns main 3x 40ns ( work 2x 54ns late 1x 5ns )', others)
    expect(others.id('work')).not.toBe(methods.id('work'))
    await stream.ended(profileOfTree(merged, others.names), 'why', 'p')
    const last = lines.findLast((it) => it.kind === 'snapshot')!
    expect(last).toMatchObject({ sinceMs: lines[1]!.atMs, atMs: 10_000, events: 2000, calledMethods: 4 })
    const told = (last.methods as { method: string; calls: number; selfNs: number; totalNs: number }[]).map(
      (m) => `${m.method} ${m.calls}x ${m.selfNs} ${m.totalNs}`,
    )
    expect(told).toEqual(['main 2x 30 35', 'late 1x 5 5', 'work 1x 1 1'])
  })

  it('a recording that is streamed merges classes with the same name and counts recursive time once', async () => {
    const two = new Methods()
    const merged = treeOf('main 1x 10ns ( run 1x 5ns ( twin 3x 7ns ) twin 1x 1ns )', two)
    const named = (id: number) => {
      const { method, ...rest } = two.names[id]!
      return { ...rest, method: method === 'twin' ? 'run' : method }
    }
    const { lines, out } = sink()
    const one = { ...session().it, methodName: named }
    const snapshot = async () => ({ merged, threads: [], events: 5, waitNs: 0, healed: 0 })
    const stream = new RecordingStream({ ...one, snapshot }, out)
    await vi.advanceTimersByTimeAsync(1100)
    // run: 5 + 7 + 1 by itself; 5 + 7 below the first, and 1: the 7 are not there twice
    expect(lines.at(-1)!.methods).toMatchObject([
      { method: 'run', calls: 5, selfNs: 13, totalNs: 13 },
      { method: 'main', calls: 1, selfNs: 10, totalNs: 23 },
    ])
    await stream.stop()
  })

  it('a recording that is streamed ends with the whole tree, in parts, depth first', async () => {
    const { it: streamed } = session()
    const { lines, out } = sink()
    const stream = new RecordingStream(streamed, out)
    await stream.stop()
    const tree = randomTree(2500, 50, seeded(7))
    const names = Array.from({ length: 52 }, (_, i) => ({
      ...{ class: 'A', method: `m${i}`, descriptor: '()V', loader: '' },
    }))
    await stream.ended(profileOfTree(tree, names), 'why', 'p')
    const pieces = lines.filter((it) => it.kind === 'tree')
    expect(pieces.map((it) => [it.first, (it.nodes as object[]).length])).toEqual([
      ...[
        [0, 1000],
        [1000, 1000],
        [2000, 500],
      ],
    ])
    const nodes = pieces.flatMap((it) => it.nodes as { method: string; calls: number; depth: number }[])
    const depths: number[] = []
    for (const [i, node] of nodes.entries()) {
      const above = tree.parent[i]!
      depths.push(above < 0 ? 0 : depths[above]! + 1)
      expect(node).toMatchObject({ method: `m${tree.method[i]}`, calls: tree.metrics.calls![i] })
    }
    expect(nodes.map((it) => it.depth)).toEqual(depths)
    expect(lines.at(-1)!.kind).toBe('ended')
  })

  it('a recording that is streamed omits the final tree if the reader does not read it', async () => {
    const { it: streamed } = session()
    const { lines, state, out } = sink()
    const stream = new RecordingStream(streamed, out)
    await stream.stop()
    state.isBusy = true
    await stream.ended(profileOf('main 1x 10ns'), 'why', 'p')
    expect(kinds(lines)).toEqual(['started', 'snapshot', 'tree'])
    expect(state.isClosed).toBe(true)
  })

  it('a recording that is streamed reports each warning and each redefinition once', async () => {
    const { it: streamed, installation, warnings } = session()
    const { lines, out } = sink()
    const stream = new RecordingStream(streamed, out)
    warnings.push('a warning')
    await vi.advanceTimersByTimeAsync(600)
    Object.assign(installation, { redefinitions: 3, hotSwapMs: 25 })
    await vi.advanceTimersByTimeAsync(300)
    await stream.stop()
    await stream.ended(profileOf('main 1x 10ns', { warnings: ['a warning'] }), 'why', 'p')
    expect(kinds(lines)).toEqual(['started', 'warning', 'redefinition', 'snapshot', 'tree', 'ended'])
    expect(lines[2]).toMatchObject({ redefinitions: 3, hotSwapMs: 25, instrumentedMethods: 3 })
  })

  it('a recording that is streamed skips snapshots for a slow reader and adds their calls to the next snapshot', async () => {
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
