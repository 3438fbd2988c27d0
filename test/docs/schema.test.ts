// The output of each command with --json conforms to the schema of the command in docs/schema.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SCHEMES } from '../../src/base/scheme.ts'
import { TRACE_STATES } from '../../src/cct/trace.ts'
import { dismissalJson } from '../../src/commands/detach.ts'
import { doctorJson } from '../../src/commands/doctor.ts'
import { comparisonJson } from '../../src/commands/gate.ts'
import { psJson } from '../../src/commands/ps.ts'
import { whyJson } from '../../src/commands/why.ts'
import { METRICS, MODES } from '../../src/measures/columns.ts'
import { COMMANDS } from '../../src/options/option.ts'
import { changesOf } from '../../src/profile/changes.ts'
import { changesJsonPieces } from '../../src/profile/changes-json.ts'
import type { Compared } from '../../src/profile/changes-text.ts'
import { commandJson, JSON_VERSIONS, type JsonCommand } from '../../src/profile/command-json.ts'
import { compareProfiles } from '../../src/profile/compare.ts'
import { judge, parseCondition } from '../../src/profile/condition.ts'
import { readProfile } from '../../src/profile/file.ts'
import { CLOCKS, type Profile } from '../../src/profile/profile.ts'
import { reportJsonPieces } from '../../src/profile/report/json.ts'
import { STALL_CAUSES } from '../../src/profile/stack-facts.ts'
import { CHECKS } from '../../src/session/doors/doctor.ts'
import type { RootReach } from '../../src/session/roots/root-reach.ts'
import type { FoundRoots } from '../../src/session/roots/root-search.ts'
import { answerOf } from '../../src/session/why/answer.ts'
import { Observed } from '../../src/session/why/observed.ts'
import { groupThreads } from '../../src/session/why/thread-groups.ts'
import { profilesOfAllModes, profileWithEveryKey } from '../profile/every-key.ts'
import { profileOf } from '../profile/trees.ts'
import { JSON_COMMANDS, problemsOf, SCHEMAS, type Schema, schemaOf } from '../support/schema.ts'

const lock = { address: '0x1', class: 'shop.Stock' }
const THREADS = [
  {
    ...{ id: 1, name: 'web-1', virtual: false, state: 'BLOCKED', awaited: lock, cpuMs: 1, allocated: 1 },
    ...{ frames: ['shop.Stock.take', 'shop.Orders.handle'], places: ['Stock.java:4', 'Orders.java:9'] },
  },
  {
    ...{ id: 2, name: 'web-2', virtual: false, state: 'RUNNABLE', held: [lock], cpuMs: 2, allocated: 9 },
    ...{ frames: ['shop.Stock.audit', 'shop.Orders.handle'], places: ['Stock.java:12', 'Orders.java:9'] },
  },
  {
    id: 3,
    name: 'mail',
    virtual: false,
    state: 'RUNNABLE',
    frames: ['org.db.Statement.executeQuery', 'shop.Mail.send'],
    cpuMs: 3,
    allocated: 9,
  },
]
const candidate = {
  root: 'shop.Orders.handle',
  share: 1,
  samples: 4,
  seen: 2,
  depth: 0,
  threads: ['web-1'],
  below: 0,
}
const FOUND = {
  ...{ pid: 4711, durationMs: 5000.4, target: { pid: 4711, mainClass: 'shop.Main', jdk: '25', vm: '' } },
  candidates: { roots: [candidate], stays: [candidate], samples: 4 },
} as unknown as FoundRoots
const COUNTED = {
  ...{ durationMs: 5000, collectionMs: 10, throttledShare: 0, ranMs: 1, delayedMs: 2 },
  processors: { used: 1, most: 2, idle: Number.POSITIVE_INFINITY, ours: 0.1 },
}

function whyOutput(root: string | null): string {
  const observed = new Observed()
  observed.add(THREADS, 1)
  observed.add(
    THREADS.map((it) => ({
      ...it,
      cpuMs: it.cpuMs + 1,
      allocated: it.allocated + (1 << 20),
      allocatedStep: 1024,
    })),
    2,
  )
  const answer = answerOf(observed, COUNTED, root === null ? [] : [root])
  expect(answer.locks).toHaveLength(1)
  expect(answer.others).toHaveLength(root === null ? 0 : 1)
  const dumps = { count: 2, meanMs: 1.5, worstMs: 2, seconds: 5, long: 1, mostMs: 50 }
  return whyJson(FOUND, { pid: FOUND.pid, target: FOUND.target, answer, dumps }, 10)
}

function threadsOutput(): string {
  const deadlocks = [[{ thread: 'web-1', awaited: 'shop.Stock', holder: 'web-2' }]]
  const facts = {
    pid: 4711,
    mainClass: 'shop.Main',
    jdk: '25',
    stoppedMs: null,
    virtual: { mounted: 2, pinned: null, ready: null },
    deadlocks,
  }
  return commandJson('threads', { ...facts, groups: groupThreads(THREADS, deadlocks) })
}

function psOutput(): string {
  const least = { pid: 1, user: 'me', uid: 1, startedAt: 0, attachable: 'is stopped' }
  const unknown = {
    version: undefined,
    vm: undefined,
    mainClass: undefined,
    command: undefined,
    container: undefined,
  }
  const known = {
    ...{ version: '25', vm: 'VM', mainClass: 'A', command: 'A b', container: 'docker:1' },
    attachable: true as const,
  }
  const uncounted = {
    ...{ pauseMs: undefined, loadedClasses: undefined, metaspaceLeftBytes: undefined },
    ...{ discardsCode: false, lacksMetaspace: false, lacksProcessors: false },
  }
  const counted = { pauseMs: { min: 3, max: null }, loadedClasses: 480, metaspaceLeftBytes: 1 << 20 }
  return psJson([
    { ...least, ...unknown },
    { ...least, ...known },
    { ...least, ...known, cost: uncounted },
    { ...least, ...known, cost: { ...uncounted, pauseMs: { min: 3, max: 12 } } },
    { ...least, ...known, cost: { ...uncounted, ...counted } },
  ])
}

const REACH = {
  roots: [{ text: 'Orders.handle', methods: 1, classes: ['shop.Orders'] }],
  loadedClasses: 500,
  schemeA: { methods: 3, classes: 2 },
  schemeB: { methods: 2, classes: 1 },
  skipped: [{ method: 'shop.Stock.take()V', reason: 'native' }],
  callees: ['shop.Stock.take'],
  auto: { scheme: 'b', why: null, pauseMs: 1.5 },
} as unknown as RootReach

function doctorOutputs(): string[] {
  const problem = { check: 'attach', level: 'problem', text: 'is disabled', hint: 'Add it.', exitCode: 78 }
  return [
    doctorJson({ pid: 4711 }, [problem as never]),
    doctorJson(
      { jdwp: 'localhost:5005', pid: null, mainClass: 'shop.Main', classes: ['shop.Main'] },
      [],
      REACH,
    ),
  ]
}

function detachOutputs(): string[] {
  const facts = { pid: 4711, removed: ['/tmp/jfluid-1'], left: ['thread jfluid-agent'], unseen: ['mappings'] }
  const ended = { restoredClasses: 2, refusedClasses: 0, ms: 12.5, lambdaClasses: 0 }
  return [
    dismissalJson({ ...facts, ended: null }),
    dismissalJson({ ...facts, ended: { ...ended, released: true, transformerGone: true } }),
  ]
}

/** Two profiles of counted calls. The second costs more. */
const [BEFORE, AFTER] = [
  'main 10x 10ns ( work 20x 20ns old 1x 1ns )',
  'main 9x 9ns ( work 40x 40ns new 1x 1ns )',
]
  .map((notation) => profileOf(notation))
  .map(({ merged, ...profile }): Profile => {
    const { calls, totalNs } = merged.metrics
    const metrics = { calls: calls!, totalCalls: totalNs! }
    return { ...profile, mode: 'count', merged: { ...merged, metrics }, threads: [] }
  }) as [Profile, Profile]

function gateOutputs(): string[] {
  return [AFTER, BEFORE].map((after) => comparisonJson(compareProfiles(BEFORE, after), 0, after === BEFORE))
}

function compareOutputs(): string[] {
  const changes = changesOf(BEFORE, AFTER)
  const verdicts = judge(parseCondition('App.work self > +10%', changes.metric), changes, [])
  const [before, after] = [BEFORE, AFTER].map((profile) => ({ path: 'p.jfluid', profile })) as [
    Compared,
    Compared,
  ]
  const recordings = [before, before]
  const several = { ...before, recordings }
  return [before, several].map((it) => [...changesJsonPieces(it, after, changes, verdicts, 10)].join(''))
}

async function reportOutputs(): Promise<string[]> {
  const folder = join(import.meta.dirname, '../profile/files')
  const files = readdirSync(folder).filter((name) => name.endsWith('.jfluid'))
  const profiles = await Promise.all(files.map((name) => readProfile(join(folder, name))))
  const options = { threads: true, backTraces: [{ text: 'main', methods: [1] }] }
  return [...profiles, profileWithEveryKey(), ...profilesOfAllModes()].flatMap((profile) =>
    [reportJsonPieces(profile), reportJsonPieces(profile, options)].map((it) => [...it].join('')),
  )
}

const OUTPUTS: Readonly<Record<JsonCommand, () => Promise<readonly string[]> | readonly string[]>> = {
  ps: () => [psOutput()],
  doctor: doctorOutputs,
  why: () => [whyOutput('shop.Orders.handle'), whyOutput(null)],
  threads: () => [threadsOutput()],
  detach: detachOutputs,
  gate: gateOutputs,
  compare: compareOutputs,
  report: reportOutputs,
}

/** Yields a schema and all schemas inside it. */
function* schemasIn(schema: Schema): Generator<Schema> {
  yield schema
  const { properties = {}, $defs = {}, items, anyOf = [] } = schema
  for (const it of [...Object.values(properties), ...Object.values($defs), ...anyOf]) yield* schemasIn(it)
  if (items !== undefined) yield* schemasIn(items)
}

/** Removes from `left` the schemas of all members that a value has. */
function cross(schema: Schema, value: unknown, root: Schema, left: Set<Schema>): void {
  const { $ref, anyOf = [], items, properties = {} } = schema
  if ($ref !== undefined) cross(root.$defs![$ref.replace('#/$defs/', '')]!, value, root, left)
  for (const it of anyOf) cross(it, value, root, left)
  if (Array.isArray(value)) {
    if (items !== undefined) for (const each of value) cross(items, each, root, left)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      const member = properties[key]
      if (member === undefined) continue
      left.delete(member)
      cross(member, inner, root, left)
    }
  }
}

it('each command with --json has a version and a schema', () => {
  expect(Object.keys(JSON_VERSIONS).sort()).toEqual([...JSON_COMMANDS].sort())
  expect(readdirSync(SCHEMAS).sort()).toEqual(JSON_COMMANDS.map((it) => `${it}.json`).sort())
})

it('docs/json.md lists the schemas, and the commands that print no JSON', () => {
  const chapter = readFileSync(join(SCHEMAS, '../json.md'), 'utf8')
  const [withJson, without] = chapter.split('## Commands without JSON')
  const linked = [...withJson!.matchAll(/^\| `([a-z-]+)` \| \[\1\.json\]\(schema\/\1\.json\)/gm)]
  expect(linked.map(([, command]) => command)).toEqual(JSON_COMMANDS)
  const rows = [...without!.matchAll(/^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|/gm)]
  const silent = rows.flatMap(([, cell]) => cell!.replaceAll('`', '').split(', '))
  expect(silent.sort()).toEqual(COMMANDS.filter((it) => !JSON_COMMANDS.includes(it)).sort())
})

describe.each(Object.keys(JSON_VERSIONS) as JsonCommand[])('the schema of %s', (command) => {
  const schema = schemaOf(command)
  const all = [...schemasIn(schema)]

  it('the schema names the command and its version', () => {
    expect(schema.title).toBe(`jfluid ${command} --json`)
    expect(schema.required?.slice(0, 2)).toEqual(['command', 'version'])
    expect(schema.properties?.command).toEqual({ const: command })
    expect(schema.properties?.version).toEqual({ const: JSON_VERSIONS[command] })
  })

  it('each object of the schema accepts only the members that the schema names', () => {
    const objects = all.filter(({ type, properties }) => type === 'object' || properties !== undefined)
    expect(objects.filter(({ additionalProperties }) => additionalProperties !== false)).toEqual([])
  })

  it('output conforms to the schema, and has each member of the schema', async () => {
    const left = new Set(all.flatMap(({ properties = {} }) => Object.values(properties)))
    const nameOf = new Map(
      all.flatMap(({ properties = {} }) => Object.entries(properties).map(([key, it]) => [it, key])),
    )
    for (const output of await OUTPUTS[command]()) {
      expect(problemsOf(command, output), output.slice(0, 1000)).toEqual([])
      cross(schema, JSON.parse(output), schema, left)
    }
    expect([...left].map((it) => nameOf.get(it))).toEqual([])
  })
})

// docs/profile-json.md describes the members of a report.
it.each(JSON_COMMANDS.filter((it) => it !== 'report'))(
  'each member in the schema of %s has a description',
  (command) => {
    const members = [...schemasIn(schemaOf(command))].flatMap(({ properties = {} }) =>
      Object.entries(properties),
    )
    const bare = members.filter(([key, it]) => !['command', 'version'].includes(key) && !isDescribed(it))
    expect(bare.map(([key]) => key)).toEqual([])
  },
)

/** An array or an object needs no description if its members have one. */
function isDescribed({ description, items, properties, anyOf = [] }: Schema): boolean {
  return (
    description !== undefined ||
    properties !== undefined ||
    (items !== undefined && isDescribed(items)) ||
    anyOf.some(isDescribed)
  )
}

it('enumerations of the schemas equal the values in the program', () => {
  const report = schemaOf('report').properties!
  const compare = schemaOf('compare')
  const kinds = Object.values(METRICS).map(({ kind }) => kind)
  const { findings } = schemaOf('doctor').properties!
  expect(findings?.items?.properties?.check?.enum).toEqual(CHECKS)
  expect(report.mode?.enum).toEqual(MODES)
  expect(report.scheme?.enum).toEqual(SCHEMES)
  expect(report.calibration?.properties?.clock?.enum).toEqual(CLOCKS)
  expect(report.stacks?.properties?.stallCause?.enum).toEqual([...STALL_CAUSES, null])
  expect(report.trace?.properties?.calls?.items?.properties?.state?.enum).toEqual(TRACE_STATES)
  expect(compare.properties?.metric?.enum).toEqual(kinds)
  expect(compare.$defs?.side?.properties?.mode?.enum).toEqual(MODES)
})

it('the schema of report names the costs of each measure', () => {
  const { properties = {}, $defs = {} } = schemaOf('report')
  for (const rows of [properties.methods?.items, $defs.node]) {
    const columns = Object.keys(rows?.properties ?? {})
    // Rows of waits have the costs of times.
    const metrics = MODES.filter((mode) => mode !== 'locks').map((mode) => METRICS[mode])
    expect(columns).toEqual(expect.arrayContaining(metrics.flatMap(({ self, total }) => [self, total])))
  }
  expect(profilesOfAllModes().map(({ mode }) => mode)).toEqual(MODES)
})

it('a missing member, and a member that the schema does not name, are reported as problems', () => {
  expect(problemsOf('ps', '{"command":"ps","version":1,"more":1}')).toEqual([
    expect.stringContaining('"missingProperty":"jvms"'),
    expect.stringContaining('"additionalProperty":"more"'),
  ])
})
