// Names of classes, methods, threads and paths may contain any character. They must not control a terminal or change the meaning of an
// output file.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, vi } from 'vitest'
import { describeRoots } from '../../src/commands/matches.ts'
import { jvmTable } from '../../src/commands/ps.ts'
import { rootLines } from '../../src/commands/root-list.ts'
import { say } from '../../src/commands/say.ts'
import { threadLines } from '../../src/commands/threads.ts'
import { pageOf } from '../../src/commands/why.ts'
import { changesOf } from '../../src/profile/changes.ts'
import { changesPieces } from '../../src/profile/changes-text.ts'
import { jsonText } from '../../src/profile/json-text.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportText } from '../../src/profile/report.ts'
import type { FoundRoots } from '../../src/session/roots/root-search.ts'
import { answerOf } from '../../src/session/why/answer.ts'
import { Observed } from '../../src/session/why/observed.ts'
import { groupThreads } from '../../src/session/why/thread-groups.ts'
import { createProgress } from '../../src/tui/progress.ts'
import { exported } from '../export/exported.ts'
import { REGION } from '../profile/region.ts'
import { slowCallsOf } from '../profile/root-calls.ts'
import { callOf } from '../profile/traced.ts'
import { Methods, profileOf } from '../profile/trees.ts'

/**
 * Terminal commands with control characters of both kinds (C0 and C1), line ends of all kinds, and all characters that change the text
 * direction.
 */
const EVIL =
  'a\x1b]0;title\x07\x1b[2J\r\n\t\x7f\x85\x9b31m\x9d0;x\x9c\u2028\u2029\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069z'
const ORDERS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

function hostile(more: Partial<Profile> = {}): Profile {
  const plain = profileOf('main 2x 1000ns ( work 3x 40ns )')
  const evil = { class: EVIL, method: EVIL, descriptor: EVIL, loader: EVIL }
  const slow = slowCallsOf(plain.merged)
  const thread = { id: 21, name: EVIL }
  const call = callOf('main> 0 hand 1 5 work> 5 work< 20 main< 22 | work> 6 work< 19', new Methods())
  return {
    ...plain,
    target: { pid: 1, jdk: EVIL, vm: EVIL, mainClass: EVIL },
    ...{ roots: [EVIL], warnings: [EVIL], truncated: EVIL, startedAt: EVIL },
    methodNames: plain.methodNames.map((_, id) => ({ ...evil, class: `${EVIL}${id}` })),
    threads: [{ ...thread, tree: plain.merged }],
    selection: {
      ...{ include: [EVIL], exclude: [EVIL], jdk: false },
      byHand: [{ what: 'exclude', text: EVIL, atMs: 1, methods: 1 }],
    },
    instrumentation: { ...plain.instrumentation, skipped: [{ method: EVIL, reason: EVIL }] },
    slowCalls: {
      ...slow,
      slowest: slow.slowest.map((it) => ({ ...it, thread })),
      latest: slow.latest && { ...slow.latest, thread },
    },
    trace: { asked: 1, calls: [{ ...call, tracks: call.tracks.map((it) => ({ ...it, thread })) }] },
    ...more,
  }
}

function harmless(text: string): void {
  assert.ok(text.length > 0)
  assert.doesNotMatch(text, ORDERS)
}

describe('output of names that contain terminal escape sequences', () => {
  it.each([
    ['report', {}],
    ['report --threads', { threads: true, minPercent: -1 }],
    ['report --trace', { trace: 1 }],
    ['report --back-traces', { backTraces: [{ text: EVIL, methods: [2] }], threads: true }],
  ])('escape sequences in names are removed by %s', (_, options) => {
    harmless(reportText(hostile(), { width: 200, ...options }))
  })

  it('the report of regions removes escape sequences from names', () => {
    harmless(reportText(hostile({ regions: [{ ...REGION, region: EVIL }] }), { width: 200 }))
  })

  it('compare removes escape sequences from names', () => {
    const [before, after] = [hostile(), hostile({ methodNames: hostile().methodNames.toReversed() })]
    const changes = changesOf(before, after)
    const of = (profile: Profile) => ({ path: EVIL, profile })
    harmless([...changesPieces(of(before), of(after), changes, [], {})].join(''))
  })

  it.each(['markdown', 'collapsed'])(
    'escape sequences in names are removed by export --format %s',
    async (format) => {
      harmless((await exported(hostile(), format)).replaceAll('\t', ' '))
    },
  )

  it('export --format csv removes escape sequences from names, and keeps tabs and line ends in cells', async () => {
    harmless((await exported(hostile(), 'csv')).replaceAll('\r\n', '\n').replaceAll('\t', ' '))
  })

  it.each(['json', 'speedscope', 'trace-events'])(
    'export --format %s escapes names so that a JSON parser restores them',
    async (format) => {
      const text = await exported(hostile(), format)
      harmless(text)
      JSON.parse(text)
      if (format === 'json') assert.equal(JSON.parse(text).methods[0].method, EVIL)
    },
  )

  it('JSON output of every command escapes control characters', () => {
    const value = { [EVIL]: [EVIL, 1, null, true] }
    for (const indent of [undefined, 2]) {
      harmless(jsonText(value, indent))
      assert.deepEqual(JSON.parse(jsonText(value, indent)), value)
    }
    const folder = join(import.meta.dirname, '../../src')
    const files = ['commands', 'profile', 'export'].flatMap((part) =>
      readdirSync(join(folder, part), { recursive: true, encoding: 'utf8' })
        .filter((it) => it.endsWith('.ts') && !it.startsWith('html'))
        .map((it) => join(part, it)),
    )
    const others = files.filter((it) => readFileSync(join(folder, it), 'utf8').includes('JSON.stringify('))
    assert.deepEqual(others.sort(), ['export/errors.ts', 'profile/comparable.ts', 'profile/json-text.ts'])
  })

  it('ps removes escape sequences from names, and aligns its columns', () => {
    const jvm = {
      pid: 1,
      uid: 1,
      vm: EVIL,
      command: EVIL,
      container: EVIL,
      startedAt: 0,
      attachable: EVIL,
    } as const
    const table = jvmTable([
      { ...jvm, user: EVIL, version: EVIL, mainClass: EVIL },
      { ...jvm, user: 'me', version: '17.0.15', mainClass: '漢字.Main', attachable: true },
    ])
    harmless(table)
    assert.equal(table.split('\n').length, 4)
  })

  it('ps shortens main classes to the terminal width, but not in a pipe', () => {
    const jvm = {
      pid: 1,
      uid: 1,
      user: 'me',
      version: '21',
      command: '',
      attachable: true,
      startedAt: 0,
      container: undefined,
    } as const
    const jvms = [{ ...jvm, vm: 'HotSpot', mainClass: `com.acme.${'Long'.repeat(30)}` }]
    assert.ok(
      jvmTable(jvms, 80)
        .split('\n')
        .every((line) => line.length <= 80),
    )
    assert.match(jvmTable(jvms, 80), /…\w*Long\n/)
    assert.ok(jvmTable(jvms).includes(jvms[0]!.mainClass))
  })

  it('escape sequences in names are removed from the list of root candidates', () => {
    const candidate = { root: EVIL, share: 0.5, samples: 5, seen: 5, threads: [EVIL], depth: 1 }
    const found = {
      ...{ pid: 1, sampling: { by: 'jfr' }, durationMs: 1000, warnings: [], hasEnded: false },
      target: { version: EVIL, mainClass: EVIL },
      snapshot: { threads: [] },
      candidates: { roots: [candidate], stays: [candidate], samples: 5 },
    } as unknown as FoundRoots
    harmless(rootLines(found, 10).join('\n'))
  })

  it('escape sequences are removed by jfluid why and jfluid threads', () => {
    const lock = { address: '0x1', class: EVIL }
    const of = { virtual: false, frames: [`${EVIL}.${EVIL}`], places: [EVIL], allocated: 1, cpuMs: 1 }
    const dump = [
      { ...of, id: 1, name: EVIL, state: 'BLOCKED', awaited: lock },
      { ...of, id: 2, name: EVIL, state: 'RUNNABLE', held: [lock], frames: [`${EVIL}.run`] },
    ]
    const observed = new Observed()
    for (let round = 0; round < 12; round++) observed.add(dump, 1)
    const counted = {
      durationMs: 1,
      collectionMs: 0,
      throttledShare: 0,
      processors: null,
      ranMs: 0,
      delayedMs: 0,
    }
    const candidate = { root: `${EVIL}.${EVIL}`, share: 1, samples: 9, seen: 9, threads: [EVIL], depth: 1 }
    const found = {
      ...{ pid: 1, durationMs: 1, target: { jdk: EVIL, mainClass: EVIL } },
      candidates: { roots: [candidate], stays: [candidate], samples: 9 },
    } as unknown as FoundRoots
    const answer = answerOf(observed, counted, [candidate.root])
    assert.equal(answer.locks.length, 1)
    const dumps = { count: 1, meanMs: 1, worstMs: 1, seconds: 1, long: 1, mostMs: 50 }
    const answered = { pid: 1, target: { jdk: EVIL, mainClass: EVIL }, answer, dumps }
    for (const columns of [80, Number.POSITIVE_INFINITY]) harmless(pageOf(found, answered, 9, columns))
    const deadlocks = [[{ thread: EVIL, awaited: EVIL, holder: EVIL }]]
    const shown = { pid: 1, mainClass: EVIL, jdk: EVIL, stoppedMs: 1, virtual: null, deadlocks }
    harmless(threadLines({ ...shown, groups: groupThreads(dump, deadlocks) }, true).join('\n'))
  })

  it('escape sequences in names are removed from messages about roots', () => {
    const report = { text: EVIL, option: 'root', methods: 1, classes: ['a'], armed: false, problem: null }
    harmless(describeRoots([{ ...report, option: 'root', near: [EVIL], unusable: [EVIL] }]).join('\n'))
    harmless(
      describeRoots([{ ...report, option: 'root', armed: true, near: [EVIL], unusable: [] }]).join('\n'),
    )
  })

  it('escape sequences in names are removed from progress lines and command messages', () => {
    let text = ''
    const progress = createProgress({ isTTY: false, write: (piece) => (text += piece) })
    progress.phase(EVIL)
    progress.note(EVIL)
    progress.done(EVIL)
    harmless(text)
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    say(EVIL)
    const said = write.mock.calls.map(([piece]) => String(piece)).join('')
    write.mockRestore()
    harmless(said)
    assert.equal(said.split('\n').length, 2)
  })

  it('every command writes to standard error only through functions that remove escape sequences', () => {
    const folder = join(import.meta.dirname, '../../src/commands')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((it) =>
      it.endsWith('.ts'),
    )
    const writing = files.filter((it) => readFileSync(join(folder, it), 'utf8').includes('stderr.write'))
    assert.deepEqual(writing, ['say.ts'])
  })
})
