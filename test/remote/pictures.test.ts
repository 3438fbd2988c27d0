// Snapshots of many threads for a remote view: within the rate limit of the link, and complete in the end.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Snapshot, Tree } from '../../src/cct/tree.ts'
import { HostedView, type PictureFacts } from '../../src/commands/hosted-view.ts'
import { RemoteSession } from '../../src/commands/remote-session.ts'
import { remoteSource } from '../../src/commands/remote-source.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Caller } from '../../src/remote/caller.ts'
import { NotAProxy, ProxySays } from '../../src/remote/errors.ts'
import { Pace } from '../../src/remote/pace.ts'
import { BEFORE, PIECE_BYTES } from '../../src/remote/protocol.ts'
import type { LiveSource } from '../../src/tui/live-source.ts'
import type { ByHandRow } from '../../src/tui/steering.ts'
import { encodeFrame, FrameReader } from '../../src/wire/frame.ts'
import { profileOf } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const THREADS = 1000
const SECONDS = 60
/** Bytes per second of a live view (docs/ways-in.md). */
const MOST_BYTES_PER_SECOND = 1_000_000
/** Bytes permitted at once after a silent period. */
const MOST_SAVED = 200_000
/** Header, names, and the minimum size of a snapshot. */
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

it(`snapshots of ${THREADS} busy threads stay below the rate limit of the link`, async () => {
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

it('all threads are transferred, ended threads are removed, and unchanged data is not sent again', async () => {
  const threadCount = 600 // more than fit into one snapshot
  let now = snapshotOf(threadCount, 1)
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
  expect(await seen()).not.toEqual(there())
  await expect.poll(seen, { timeout: 30_000, interval: 50 }).toEqual(there())
  await source.snapshot(true)
  expect(bytes).toBeLessThan(1000)
  const { threads, ...others } = snapshotOf(threadCount, 2)
  now = { ...others, threads: threads.slice(3) }
  await expect.poll(seen, { timeout: 30_000, interval: 50 }).toEqual(there())
})

/** Connects a client and a proxy whose user has excluded these methods. */
function steered(rows: () => ByHandRow[], isLeftOut: (id: number) => boolean) {
  const source = {
    snapshot: async () => snapshotOf(0, 1),
    status: () => ({ pid: 1 }),
    methodName: () => ({ class: 'a.B', method: 'c', descriptor: '(I)V', loader: '' }),
    steering: {
      get byHand() {
        return rows()
      },
      isLeftOut,
    },
  }
  const there = { generation: 0 }
  const view = new HostedView(there, source as unknown as LiveSource)
  const pace = new Pace()
  const facts: PictureFacts[] = []
  const ask = async (operation: string, args: unknown): Promise<unknown> => {
    if (operation !== 'picture') return await answers[operation]!(args)
    const [picture] = new FrameReader().push(encodeFrame([await view.picture(args, pace)]))[0]!
    facts.push(JSON.parse((picture as string[])[2]!))
    return picture
  }
  const answers: { [operation: string]: (args: unknown) => Promise<unknown> } = {
    start: async () => '{"pid":7,"timesRegions":false,"matches":[]}',
    ended: () => new Promise(() => {}),
  }
  const caller = { where: 'test://there', lostForMs: null, problem: null, ask } as unknown as Caller
  return { there, facts, answers, session: () => RemoteSession.start(caller, 7, {} as never) }
}

it('an exclusion is sent to the client once, and all data are sent again after a change of root', async () => {
  const row = { what: 'exclude', text: 'a.B.c(int)', atMs: 5, methods: 1, below: 0 } as const
  let rows: ByHandRow[] = []
  let leftOut = new Set<number>()
  const { there, facts, session } = steered(
    () => rows,
    (id) => leftOut.has(id),
  )
  const source = remoteSource(await session())
  const seen = async () => {
    await source.snapshot(false)
    return [source.steering!.byHand, source.steering!.isLeftOut(1), source.steering!.generation]
  }
  expect(await seen()).toEqual([[], false, 0])
  rows = [row]
  leftOut = new Set([1])
  expect(await seen()).toEqual([[row], true, 0])
  expect(await seen()).toEqual([[row], true, 0])
  expect(facts.map(({ byHand }) => byHand)).toEqual([undefined, { rows: [row], leftOut: [1] }, undefined])
  leftOut = new Set()
  await expect.poll(seen).toEqual([[row], false, 0])
  there.generation++
  leftOut = new Set([1])
  expect(await seen()).toEqual([[row], true, 1])
  rows = []
  expect(await seen()).toEqual([[], false, 1])
  expect(source.steering!.textOf(1, 'method')).toBe('a.B.c(int)')
  expect(source.steering!.textOf(2, 'method')).toBe(null)
})

it('the answer to an exclusion request contains the effect of the exclusion, before the next snapshot', async () => {
  const row = { what: 'exclude', text: 'a.B.c(int)', atMs: 5, methods: 1, below: 0 } as const
  let rows: ByHandRow[] = []
  const { answers, session } = steered(
    () => rows,
    () => rows.length > 0,
  )
  const { snapshot, steering } = remoteSource(await session())
  await snapshot(false)
  answers.steer = async (args) => {
    rows = (args as { what: string }).what === 'takeBack' ? [] : [row]
    return 'done'
  }
  const seen = () => [steering!.byHand, steering!.isLeftOut(1)]
  const early = snapshot(false) // requested earlier
  expect(await steering!.leaveOut(row.text)).toBe('done')
  expect(seen()).toEqual([[row], true])
  await early
  await steering!.takeBack(row.text)
  expect(seen()).toEqual([[], false])
  await steering!.add(row.text)
  expect(seen()).toEqual([[row], true])
})

it('a change of root is reported as finished when the tree of the new root is shown', async () => {
  const { there, answers, session } = steered(
    () => [],
    () => false,
  )
  const source = remoteSource(await session())
  await source.snapshot(false)
  answers.steer = async (args) => {
    expect(args).toMatchObject({ what: 'changeRoot', text: 'a.B.c(int)' })
    there.generation++
    return 'recorded from zero: a.B.c(int)'
  }
  const changed = source.steering!.changeRoot('a.B.c(int)', () => {})
  expect(source.steering!.generation).toBe(0)
  expect(await changed).toBe('recorded from zero: a.B.c(int)')
  expect(source.steering!.generation).toBe(1)
})

it('the earlier recording is transferred after a failed change of roots', async () => {
  const { answers, session } = steered(
    () => [],
    () => false,
  )
  const directory = temporaryDirectory('jfluid-before-')
  const source = remoteSource(await session(), directory)
  const before = profileOf('main 1x 20ns')
  const file = encodeProfile(before)
  let place = ''
  answers.steer = async (args) => {
    place = (args as { place: string }).place
    throw new ProxySays([
      'OldRootsAgain',
      `cannot record the new roots: oh (earlier profile: ${place})`,
      'Try again.',
      69,
    ])
  }
  answers.piece = async (args) => {
    const { of, at } = args as { of: number; at: number }
    return of === BEFORE ? file.subarray(at, at + PIECE_BYTES) : Buffer.alloc(0)
  }
  answers.before = async () => file.length
  const change = (): Promise<string> => source.steering!.changeRoot('a.B.c(int)', () => {})
  await expect(change()).rejects.toThrow(/^cannot record the new roots: oh \(earlier profile: .*\.jfluid\)$/)
  expect(readdirSync(directory).map((name) => join(directory, name))).toEqual([place])
  expect(decodeProfile(readFileSync(place), place)).toEqual(before)
  answers.before = async () => null // nothing was lost
  await expect(change()).rejects.toThrow(/roots: oh/)
  answers.before = async () => file.length + 1
  await expect(change()).rejects.toThrow(/roots: oh .*; it is lost: .*an invalid part of a profile$/)
  expect(readdirSync(directory)).toHaveLength(1)
})

it('a transferred profile with chunks of wrong length is refused', async () => {
  for (const length of [0, 10, 65_537]) {
    const answers: Readonly<Record<string, unknown>> = {
      start: '{"pid":1,"timesRegions":false,"matches":[]}',
      'so far': [1, 100_000],
      piece: Buffer.alloc(length),
    }
    const caller = { where: 'test://there', ask: async (operation: string) => answers[operation] }
    const session = await RemoteSession.start(caller as unknown as Caller, 1, {} as never)
    await expect(session.profileSoFar('a test')).rejects.toThrow(/an invalid part of a profile/)
  }
})

it('an answer of a proxy that is not an object is refused', async () => {
  const caller = { where: 'test://there', ask: async () => 'null' }
  await expect(RemoteSession.start(caller as unknown as Caller, 1, {} as never)).rejects.toBeInstanceOf(
    NotAProxy,
  )
})

it.each([2, '1', '/../../etc/x', null, 1.5])(
  'a session that reports %j instead of the requested JVM id is refused',
  async (pid) => {
    const answer = JSON.stringify({ pid, timesRegions: false, matches: [] })
    const caller = { where: 'test://there', ask: async () => answer } as unknown as Caller
    await expect(RemoteSession.start(caller, 1, {} as never)).rejects.toThrow(/a session of another JVM$/)
  },
)

it.each(['1', 0, -1, 1.5, Number.NaN, 2 ** 60])('a proxy process id %j is refused', async (pid) => {
  const caller = { where: 'test://there', ask: async () => pid } as unknown as Caller
  await expect(RemoteSession.find(caller, 'Shop')).rejects.toBeInstanceOf(NotAProxy)
})
