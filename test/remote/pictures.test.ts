// What a view elsewhere has of many threads: no more than the link is to bear, and all of them in the end.

import { expect, it } from 'vitest'
import type { Snapshot, Tree } from '../../src/cct/tree.ts'
import { HostedView } from '../../src/commands/hosted-view.ts'
import { RemoteSession } from '../../src/commands/remote-session.ts'
import { remoteSource } from '../../src/commands/remote-source.ts'
import type { Caller } from '../../src/remote/caller.ts'
import { NotAProxy } from '../../src/remote/errors.ts'
import { Pace } from '../../src/remote/pace.ts'
import type { LiveSource } from '../../src/tui/live-source.ts'
import { encodeFrame, FrameReader } from '../../src/wire/frame.ts'

const THREADS = 1000
const SECONDS = 60
/** docs/ways-in.md: for a live view. */
const MOST_BYTES_PER_SECOND = 1_000_000
/** What there may be at once, where nothing came before. */
const MOST_SAVED = 200_000
/** Head, names and what a picture may always have. */
const MOST_OVER = 10_000

const tree = (calls: number): Tree => ({
  count: 1,
  method: Int32Array.of(1),
  parent: Int32Array.of(-1),
  size: Int32Array.of(1),
  metrics: { calls: Float64Array.of(calls) },
})

function snapshotOf(threads: number, call: number): Snapshot {
  const perSecond = Uint32Array.from({ length: SECONDS }, (_, i) => 10_000 + ((i + call) % SECONDS))
  return {
    merged: tree(call),
    threads: Array.from({ length: threads }, (_, id) => ({
      ...{ id, name: `http-nio-8080-exec-${id}`, tree: tree(call + id), activity: { perSecond } },
    })),
    ...{ events: call, waitNs: 0, healed: 0 },
  }
}

function viewOf(snapshot: () => Snapshot): HostedView {
  const source = {
    snapshot: async () => snapshot(),
    status: () => ({ pid: 1 }),
    methodName: () => ({ class: 'a.B', method: 'c', descriptor: '()V', loader: '' }),
  }
  return new HostedView({ generation: 0 }, source as unknown as LiveSource)
}

it(`pictures of ${THREADS} busy threads take no more than the link is to bear`, async () => {
  let call = 0
  const view = viewOf(() => snapshotOf(THREADS, ++call))
  const pace = new Pace()
  const begun = performance.now()
  let bytes = 0
  for (let i = 1; i <= 20; i++) {
    bytes += encodeFrame([1, true, await view.picture({ perThread: true }, pace)]).length
    const seconds = (performance.now() - begun) / 1000
    expect(bytes).toBeLessThan(MOST_SAVED + MOST_OVER * i + MOST_BYTES_PER_SECOND * seconds)
  }
})

it('all of them come, as they are, and those that have ended go; what is as before is not told again', async () => {
  let now = snapshotOf(THREADS, 1)
  const view = viewOf(() => now)
  const pace = new Pace()
  let bytes = 0
  const ask = async (_: string, args: unknown): Promise<unknown> => {
    const frame = encodeFrame([1, true, await view.picture(args, pace)])
    bytes = frame.length
    return new FrameReader().push(frame)[0]![2]
  }
  const session = {
    pid: 1,
    where: 'test://there',
    lostForMs: null,
    problem: null,
    ended: new Promise(() => {}),
    ask,
  }
  const source = remoteSource(session as unknown as RemoteSession)
  const seen = async () =>
    (await source.snapshot(true)).threads.map(({ id, name, tree: { metrics }, activity }) => ({
      ...{ id, name, calls: metrics.calls![0], perSecond: activity?.perSecond },
    }))
  const there = () =>
    now.threads.map(({ id, name, tree: { metrics }, activity }) => ({
      ...{ id, name, calls: metrics.calls![0], perSecond: activity?.perSecond },
    }))
  await expect.poll(seen, { timeout: 30_000, interval: 0 }).toEqual(there())
  await source.snapshot(true)
  expect(bytes).toBeLessThan(1000)
  const { threads, ...others } = snapshotOf(THREADS, 2)
  now = { ...others, threads: threads.slice(3) }
  await expect.poll(seen, { timeout: 30_000, interval: 0 }).toEqual(there())
})

it('a profile whose pieces are shorter or longer than they should be is none', async () => {
  for (const length of [0, 10, 65_537]) {
    const answers: Readonly<Record<string, unknown>> = {
      start: '{"pid":1,"timesRegions":false,"matches":[]}',
      'so far': [1, 100_000],
      piece: Buffer.alloc(length),
    }
    const caller = { where: 'test://there', ask: async (operation: string) => answers[operation] }
    const session = await RemoteSession.start(caller as unknown as Caller, {} as never)
    await expect(session.profileSoFar('a test')).rejects.toThrow(/a piece of a profile that is none/)
  }
})

it('an answer that is no object is that of no proxy', async () => {
  const caller = { where: 'test://there', ask: async () => 'null' }
  await expect(RemoteSession.start(caller as unknown as Caller, {} as never)).rejects.toBeInstanceOf(
    NotAProxy,
  )
})
