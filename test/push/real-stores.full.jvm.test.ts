// Profiles are pushed to real profile servers and queried from them. Skipped on machines without a server (see README.md in this folder). A
// server named by JFLUID_PYROSCOPE or JFLUID_OTELCOL must exist.

import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { Profile } from '../../src/profile/profile.ts'
import { parseLabels } from '../../src/push/identity.ts'
import { push } from '../../src/push/push.ts'
import { credentials, parseStore } from '../../src/push/store.ts'
import { PROFILES } from '../export/exported.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { chain, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, jdks } from '../support/jdks.ts'
import { callsByPath, cli, jfluid, readProfileJson, stderrLine } from '../support/jfluid.ts'
import { describeOnlyIf } from '../support/only-if.ts'
import { type Collected, collected } from './collected.ts'
import { otlpOf } from './otlp-reader.ts'
import { binary, type Costs, type Pyroscope, startCollector, startPyroscope, summed } from './real-stores.ts'
import { ingested, type Received, startStore } from './stores.ts'

const PYROSCOPE = binary('JFLUID_PYROSCOPE', 'pyroscope')
const OTELCOL = binary('JFLUID_OTELCOL', 'otelcol')
const NEVER = new AbortController().signal
const ORDER = 'fix.Ordered.order'

/** Returns the profile with a current start time, since the server refuses old profiles. */
const now = (profile: Profile): Profile => ({
  ...profile,
  startedAt: new Date(Date.now() - 15_000).toISOString(),
})

function random(contexts: number, methods = 30): Profile {
  const names = Array.from({ length: methods + 1 }, (_, id) => `m${id} 1x 1ns`).join(' ')
  return profileOfTree(randomTree(contexts, methods, seeded(11)), profileOf(names).methodNames)
}

const CASES: readonly (readonly [string, () => Profile])[] = [
  ['times', () => random(2000)],
  ['deep', () => profileOfTree(chain(600), profileOf('deep 1x 1ns').methodNames)],
  ['negative', () => profileOf('main 1x 10ns ( work 2x 54ns ( main 1x 0ns ) other 1x -3ns )')],
  ...Object.entries(PROFILES),
]

/** Pushes to a real server, and in the same way to a test server, which keeps the data unchanged. */
async function pushed(
  url: string,
  profile: Profile,
  service: string,
  labels: readonly string[] = [],
): Promise<Received> {
  const given = parseLabels([`service_name=${service}`, ...labels])
  const to = (address: string) => ({
    store: parseStore(address),
    labels: given,
    credentials: credentials({}),
  })
  const ours = await startStore()
  const address = url.startsWith('otlp+') ? `otlp+${ours.url}` : ours.url
  await push(profile, to(address), () => {}, NEVER)
  await push(profile, to(url), () => {}, NEVER)
  return ours.received[0]!
}

/** Records three orders of a JVM and pushes them during the recording. Returns the profile file. */
async function recorded(jdk: Jdk, url: string, service: string): Promise<string> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  const file = join(temporaryDirectory('jfluid-pushed-'), 'p.jfluid')
  const options = ['--duration', '10m', '--out', file, '--push', url, '--label', `service_name=${service}`]
  const p = startProcess(process.execPath, [cli, 'record', `${java.pid}`, '--root', ORDER, ...options])
  await stderrLine(p, /recording/)
  for (const seed of [1, 2, 3]) {
    java.send(`order ${seed}`)
    await java.line(new RegExp(`^order ${seed}:`))
  }
  p.child.kill('SIGINT')
  const { code } = await p.exit
  expect(code, p.stderr()).toBe(0)
  return file
}

/** Calls of a file keyed by path, with methods named as on servers: without descriptors. */
async function callsOf(file: string): Promise<Costs> {
  const { merged } = await readProfileJson(file)
  return summed(
    [...callsByPath(merged)].map(([path, calls]) => [
      path.replaceAll(/\([^;]*?\)(\[*L[^;]*;|[^;]*)/g, '').split(';'),
      calls,
    ]),
  )
}

describeOnlyIf(PYROSCOPE !== undefined, 'needs pyroscope on PATH')('a Pyroscope server', () => {
  let store: Pyroscope
  beforeAll(async () => {
    store = await startPyroscope(PYROSCOPE!)
  }, 180_000)

  it.each(CASES)('after a push, the Pyroscope server contains %s, with method names', async (what, make) => {
    const service = `pprof/${what.replaceAll(' ', '-')}`
    const { types, samples } = await ingested(await pushed(store.url, now(make()), service))
    const kept = await store.types(service)
    expect(kept.map((type) => type.split(':')[1]).sort()).toEqual(types.map((it) => it.split('/')[0]).sort())
    for (const [at, type] of types.entries()) {
      const found = kept.find((it) => it.includes(`:${type.replace('/', ':')}:`))
      const sent = summed(samples.map(({ stack, values }) => [stack, values[at]!]))
      expect(await store.costs(service, found!), `${type} as ${found}`).toEqual(sent)
    }
  })

  it.each(CASES)('after a push by OTLP, the Pyroscope server contains %s', async (what, make) => {
    const service = `otlp/${what.replaceAll(' ', '-')}`
    const { profiles } = otlpOf(await pushed(`otlp+${store.url}`, now(make()), service))
    const names = profiles.map(
      ({ type }) => `${type.split('/')[0]}:${`${type}/${type}`.replaceAll('/', ':')}`,
    )
    expect(await store.types(service)).toEqual(names.toSorted())
    for (const [at, name] of names.entries()) {
      // The reader appends the line of the call site to the name; names without it are compared.
      const sent = profiles[at]!.samples.map(
        ({ stack, value }) => [stack.map((it) => it.replace(/:\d+$/, '')), value] as const,
      )
      expect(await store.costs(service, name), name).toEqual(summed(sent))
    }
  })

  it.each(jdks)(
    "for a JVM on JDK $version, the Pyroscope server contains the same calls and times as the profile's file",
    async (jdk) => {
      const service = `jvm/${jdk.version}`
      const file = await recorded(jdk, store.url, service)
      const calls = await store.costs(service, 'time:calls:count::')
      expect(calls).toEqual(await callsOf(file))
      expect(calls.get(ORDER)).toBe(3)
      const later = await jfluid(
        'push',
        file,
        '--to',
        `otlp+${store.url}`,
        '--label',
        `service_name=${service}/otlp`,
      )
      expect(later.code, later.stderr).toBe(0)
      expect(await store.costs(`${service}/otlp`, 'calls:calls:count:calls:count')).toEqual(calls)
      expect(await store.costs(`${service}/otlp`, 'time:time:nanoseconds:time:nanoseconds')).toEqual(
        await store.costs(service, 'time:time:nanoseconds::'),
      )
    },
  )

  it.each([
    ['is too old', () => random(20), [], 'is outside of ingestion window', '-validation.reject-older-than'],
    [
      'has too many samples',
      () => now(random(17_000)),
      [],
      'exceeds the samples count limit',
      '--max-contexts',
    ],
    ['has too many bytes', () => now(random(100_000)), [], 'decompressed size exceeds', '--max-contexts'],
    [
      'has 31 labels',
      () => now(random(20)),
      Array.from({ length: 31 }, (_, at) => `l${at}=x`),
      'label names; limit 30',
      'fewer labels',
    ],
  ] as const)(
    'a profile that %s is refused with a reason and a hint',
    async (_, make, labels, why, advice) => {
      const error = await pushed(store.url, make(), 'refused', labels).catch((it: unknown) => it)
      expect(error).toMatchObject({ name: 'PushRefused', exitCode: 69 })
      const { message, hint } = error as { readonly message: string; readonly hint: string }
      expect(message).toContain(why)
      expect(hint).toContain(advice)
    },
    120_000,
  )
})

const describeCollector = describeOnlyIf(OTELCOL !== undefined, 'needs otelcol on PATH')
describeCollector('an OpenTelemetry Collector', () => {
  /** Starts a collector that forwards to a test server. */
  async function collector(): Promise<{ readonly url: string; readonly sent: () => Collected }> {
    const store = await startStore((response) =>
      response.setHeader('content-type', 'application/json').end('{}'),
    )
    const { url } = await startCollector(OTELCOL!, store.url)
    const sent = (): Collected => {
      expect(store.received.map((it) => it.url.pathname)).toEqual(['/v1development/profiles'])
      return collected(store.received[0]!)
    }
    return { url, sent }
  }

  it.each(CASES)('the OpenTelemetry collector accepts %s', async (what, make) => {
    const { url, sent } = await collector()
    const profile = now(make())
    const service = `shop/${what.replaceAll(' ', '-')}`
    const ours = otlpOf(await pushed(url, profile, service, ['region=eu-west']))
    expect(sent()).toEqual({
      attributes: Object.fromEntries(Object.entries(ours.resource).map(([key, value]) => [key, `${value}`])),
      scope: 'jfluid',
      profiles: ours.profiles.map(({ type, period, id, samples }) => ({
        ...{ type, period, id },
        startedAt: profile.startedAt,
        durationMs: profile.durationMs,
        costs: summed(samples.map(({ stack, value }) => [stack, value])),
      })),
    })
  })

  it.each(jdks)(
    'the OpenTelemetry collector receives the profile of a JVM on JDK $version with every call',
    async (jdk) => {
      const { url, sent } = await collector()
      const file = await recorded(jdk, url, 'shop')
      const { profiles } = sent()
      expect(profiles.map(({ type }) => type)).toEqual(['calls/count', 'time/nanoseconds'])
      expect(profiles[0]!.costs).toEqual(await callsOf(file))
    },
  )
})
