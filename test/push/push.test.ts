// The data received by a profile server, decoded by independent parsers.

import { describe, expect, it } from 'vitest'
import type { Profile } from '../../src/profile/profile.ts'
import { reproducible } from '../../src/profile/reproducible.ts'
import { identityOf, parseLabels } from '../../src/push/identity.ts'
import { otlpRequest } from '../../src/push/otlp.ts'
import { push } from '../../src/push/push.ts'
import { credentials, parseStore } from '../../src/push/store.ts'
import { ofEveryMetric } from '../export/exported.ts'
import { chain, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { type Otlp, type OtlpProfile, otlpOf } from './otlp-reader.ts'
import { type Ingested, ingested, startStore } from './stores.ts'

const NEVER = new AbortController().signal
const APP = 'com.acme.App.'

interface Given {
  readonly name?: string
  readonly labels?: readonly string[]
  readonly path?: string
  readonly env?: Record<string, string>
}

async function pushed(profile: Profile, { name, labels = [], path = '', env = {} }: Given = {}) {
  const store = await startStore()
  const to = {
    store: parseStore(store.url + path),
    labels: parseLabels(name === undefined ? labels : [`service_name=${name}`, ...labels]),
    credentials: credentials(env),
  }
  const filed = await push(profile, to, () => {}, NEVER)
  expect(store.received).toHaveLength(1)
  return { filed, request: store.received[0]! }
}

const lines = ({ samples }: Ingested): string[] =>
  samples.map(({ stack, values }) => `${stack.join(';').replaceAll(APP, '')} ${values.join(' ')}`)
const otlpLines = ({ samples }: OtlpProfile): string[] =>
  samples.map(({ stack, value }) => `${stack.join(';').replaceAll(APP, '')} ${value}`)

const SMALL = 'main 1x 10ns ( work 2x 54ns ( main 1x 0ns ) other 1x -3ns )'

/** Returns a profile whose times end in halves, so that only rounding may lose time. */
function random(): { profile: Profile; calls: number; timeNs: number } {
  const tree = randomTree(2000, 30, seeded(11))
  const selfNs = tree.metrics.selfNs!.map((ns) => ns + 0.5)
  const names = Array.from({ length: 31 }, (_, id) => `m${id} 1x 1ns`).join(' ')
  const merged = { ...tree, metrics: { ...tree.metrics, selfNs } }
  const sum = (values: Float64Array) => values.reduce((all, it) => all + it, 0)
  return {
    profile: profileOfTree(merged, profileOf(names).methodNames),
    calls: sum(tree.metrics.calls!),
    timeNs: sum(selfNs),
  }
}

describe('push to Pyroscope', () => {
  it('Pyroscope gets a form at /ingest that contains the pprof profile, with name, labels and time', async () => {
    const { request, filed } = await pushed(profileOf(SMALL), {
      name: 'shop/checkout',
      labels: ['region=eu-west', 'note=a b=c'],
    })
    expect(request.method).toBe('POST')
    expect(request.url.pathname).toBe('/ingest')
    expect(Object.fromEntries(request.url.searchParams)).toEqual({
      name: 'shop/checkout{pid=4711,mode=exact,region=eu-west,note=a b=c}',
      from: `${Date.parse('2026-11-21T08:00:00Z') / 1000}`,
      until: `${Date.parse('2026-11-21T08:00:10Z') / 1000}`,
      spyName: 'jfluid',
    })
    expect(filed).toBe('shop/checkout{pid=4711,mode=exact,region=eu-west,note=a b=c}')
    const { types, config } = await ingested(request)
    expect(types).toEqual(['calls/count', 'time/nanoseconds'])
    expect(config.calls).toMatchObject({ units: 'samples', aggregation: 'sum', sampled: false })
    expect(Object.keys(config)).toEqual(['calls', 'time'])
  })

  it('a push contains no negative times, since Pyroscope drops a sample with a negative time together with its number of calls', async () => {
    const { request } = await pushed(profileOf(SMALL))
    expect(lines(await ingested(request))).toEqual([
      ...['main 1 10', 'main;work 2 54', 'main;work;main 1 0', 'main;other 1 0'],
    ])
  })

  it('the sums of calls and time in a push equal the sums in the profile', async () => {
    const { profile, calls, timeNs } = random()
    const { request } = await pushed(profile)
    const { samples } = await ingested(request)
    const sum = (at: number) => samples.reduce((all, { values }) => all + values[at]!, 0)
    expect(sum(0)).toBe(calls)
    expect(Math.abs(sum(1) - timeNs)).toBeLessThanOrEqual(1)
  })

  it('a push requests that the profile server averages, and does not sum, live objects', async () => {
    const profile = profileOf('main 1x 1ns')
    const metrics = {
      ...profile.merged.metrics,
      liveObjects: Float64Array.of(1),
      liveBytes: Float64Array.of(1),
    }
    const { request } = await pushed({ ...profile, merged: { ...profile.merged, metrics } })
    const { config } = await ingested(request)
    expect(config.inuse_space).toMatchObject({ units: 'bytes', aggregation: 'average' })
    expect(config.inuse_objects).toMatchObject({ units: 'objects', aggregation: 'average' })
  })
})

describe('push by OTLP', () => {
  const path = '/v1development/profiles'
  const read = async (profile: Profile, given: Given = {}): Promise<Otlp> =>
    otlpOf((await pushed(profile, { path, ...given })).request)

  it('labels have the attribute names of OpenTelemetry', async () => {
    const labels = [
      'version=1.4',
      'host=node-3',
      'namespace=shop',
      'pod=shop-1',
      'container=app',
      'overhead=<1%',
    ]
    const { resource } = await read(profileOf(SMALL), { labels })
    expect(resource).toMatchObject({
      ...{ 'service.version': '1.4', 'host.name': 'node-3', 'jfluid.overhead': '<1%' },
      ...{ 'k8s.namespace.name': 'shop', 'k8s.pod.name': 'shop-1', 'k8s.container.name': 'app' },
    })
  })

  it('an OTLP store gets a compressed message with a profile per kind of value', async () => {
    const { request } = await pushed(profileOf(SMALL), { path, name: 'shop', labels: ['region=eu'] })
    expect(request.url.href).toBe('http://store/v1development/profiles')
    expect(request.headers).toMatchObject({
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
    })
    const { resource, scope, profiles, systemNames } = otlpOf(request)
    const { vm, jdk } = profileOf(SMALL).target
    expect(resource).toEqual({
      ...{ 'service.name': 'shop', 'process.runtime.name': vm, 'process.runtime.version': jdk },
      ...{ 'process.pid': 4711, mode: 'exact', region: 'eu' },
    })
    expect(scope).toBe('jfluid')
    expect(profiles.map(({ type, period }) => [type, period])).toEqual([
      ['calls/count', '1 calls/count'],
      ['time/nanoseconds', '1 time/nanoseconds'],
    ])
    expect(profiles[0]!.startNs).toBe(Date.parse('2026-11-21T08:00:00Z') * 1e6)
    expect(profiles[0]!.durationNs).toBe(10e9)
    expect(profiles.map(otlpLines)).toEqual([
      ['main 1', 'main;work 2', 'main;work;main 1', 'main;other 1'],
      ['main 10', 'main;work 54'],
    ])
    expect(systemNames).toContain('com.acme.App.work(I)V')
  })

  it('each table of an OTLP message begins with an empty entry', async () => {
    const { firsts } = await read(profileOf(SMALL))
    // A link has 16 and 8 zero bytes, each with tag and length.
    expect(firsts).toEqual([0, 0, 0, 28, 0, 0])
  })

  it('an OTLP profile has the same id at every push, and another id for each kind of value and each profile', async () => {
    const ids = async (profile: Profile) => (await read(profile)).profiles.map(({ id }) => id)
    const [once, again] = [await ids(profileOf(SMALL)), await ids(profileOf(SMALL))]
    expect(again).toEqual(once)
    const other = await ids(profileOf(SMALL, { startedAt: '2026-11-21T08:00:01.000Z' }))
    expect(new Set([...once, ...other]).size).toBe(4)
    expect(once[0]).toMatch(/^[0-9a-f]{32}$/)
    // These profiles differ only in the measured quantity and its subject.
    const facts = { startedAt: '1970-01-01T00:00:00.000Z', durationMs: 0 }
    const trees = ['main 1x 10ns', 'main 1x 11ns', 'work 1x 10ns', 'main 1x 10ns ( work 1x 1ns )']
    const all = await Promise.all(trees.map((tree) => ids(reproducible(profileOf(tree, facts)))))
    expect(new Set(all.flat()).size).toBe(8)
  })

  it('while a large tree is encoded, other events are still handled', () => {
    const { profile } = random()
    const url = new URL('http://store')
    const pauses: number[] = []
    for (const { length } of otlpRequest(profile, identityOf(profile, parseLabels([])), url).body) {
      if (length > 0) break
      pauses.push(length)
    }
    expect(pauses.length).toBeGreaterThan(3) // pauses after blocks of stacks, and after blocks of samples of two kinds
  })

  it('the sums of calls and time in an OTLP push equal the sums in the profile', async () => {
    const { profile, calls, timeNs } = random()
    const { profiles } = await read(profile)
    const sums = profiles.map(({ samples }) => samples.reduce((all, { value }) => all + value, 0))
    expect(sums[0]).toBe(calls)
    expect(Math.abs(sums[1]! - timeNs)).toBeLessThanOrEqual(1)
  })

  it('an OTLP profile can contain values beyond 32 bits', async () => {
    const { profiles } = await read(profileOf('main 1x 4503599627370497ns'))
    expect(otlpLines(profiles[1]!)).toEqual(['main 4503599627370497'])
  })

  it('the length of OTLP stacks is limited, even if a recursion is 600 calls deep', async () => {
    const { profiles } = await read(profileOfTree(chain(600), profileOf('deep 1x 1ns').methodNames))
    const last = profiles[0]!.samples.at(-1)!.stack
    expect(last).toHaveLength(513)
    expect(last[256]).toBe('[88 frames]')
  })

  it.each(
    ofEveryMetric<Record<string, string[]>>({
      waits: {
        calls: ['lock 1', 'lock;(blocked on com.acme.Lock) 2'],
        time: ['lock 10', 'lock;(blocked on com.acme.Lock) 700'],
        wait: ['lock;(blocked on com.acme.Lock) 700'],
      },
      bytecodes: { calls: ['main 5', 'main;work 7'], bytecodes: ['main 5', 'main;work 7'] },
      calls: { calls: ['main 5', 'main;work 7'] },
      samples: { calls: ['main 5', 'main;work 7'], samples: ['main 5', 'main;work 7'] },
      bytes: {
        calls: ['main 1', 'main;work 3'],
        alloc_objects: ['main;new java.lang.String 2', 'main;work;new byte[] 1'],
        alloc_space: ['main;new java.lang.String 48', 'main;work;new byte[] 100'],
      },
      'call sites': {
        calls: ['main 1', 'main:7;work 1', 'main:9;work 2'],
        time: ['main 5', 'main:7;work 10', 'main:9;work 20'],
      },
    }),
  )('an OTLP push contains the expected stacks: %s', async (_, profile, expected) => {
    const { profiles } = await read(profile)
    expect(Object.fromEntries(profiles.map((it) => [it.type.split('/')[0], otlpLines(it)]))).toEqual(expected)
  })
})

describe('name and labels of a pushed profile', () => {
  const named = async (mainClass: string, labels: readonly string[] = []) => {
    const profile = profileOf('main 1x 1ns')
    const { filed } = await pushed({ ...profile, target: { ...profile.target, mainClass } }, { labels })
    return filed
  }

  it('the service name is the main class or jar, with an underscore in place of each character that is not allowed', async () => {
    expect(await named('shop.Main')).toBe('shop.Main{pid=4711,mode=exact}')
    expect(await named('/opt/shop/server-1.2.jar')).toBe('server-1.2{pid=4711,mode=exact}')
    expect(await named('große Töne{}')).toBe('gro_e_T_ne__{pid=4711,mode=exact}')
    expect(await named('')).toBe('jvm{pid=4711,mode=exact}')
  })

  it('labels given by the user replace labels of the same name, and labels with an empty value are omitted', async () => {
    expect(await named('A', ['pid=', 'mode=nightly'])).toBe('A{mode=nightly}')
  })
})

describe('credentials come from the environment', () => {
  const sent = async (env: Record<string, string>) => {
    const { authorization, 'x-scope-orgid': tenant } = (await pushed(profileOf(SMALL), { env })).request
      .headers
    return { authorization, tenant }
  }

  it('credentials may be a bearer token, a user with a password, or a tenant', async () => {
    expect(await sent({})).toEqual({})
    expect(await sent({ JFLUID_PUSH_TOKEN: 'abc' })).toEqual({ authorization: 'Bearer abc' })
    expect(await sent({ JFLUID_PUSH_USER: '42', JFLUID_PUSH_TOKEN: 'abc' })).toEqual({
      authorization: `Basic ${Buffer.from('42:abc').toString('base64')}`,
    })
    expect(await sent({ JFLUID_PUSH_TENANT: 'team-a' })).toEqual({ tenant: 'team-a' })
  })

  it.each(['', 'a\nb', 'a\r\nX-Evil: 1', 'schlüssel'])('the credential %j is refused', (value) => {
    for (const variable of ['JFLUID_PUSH_TOKEN', 'JFLUID_PUSH_USER', 'JFLUID_PUSH_TENANT']) {
      expect(() => credentials({ [variable]: value })).toThrow(
        expect.objectContaining({
          name: 'BadPushCredentials',
          exitCode: 64,
          message: expect.not.stringContaining(value || 'nothing') as string,
        }) as Error,
      )
    }
  })
})

describe('the address of a profile store', () => {
  it.each([
    ['http://host:4040', 'pyroscope', 'http://host:4040/ingest'],
    ['https://host/', 'pyroscope', 'https://host/ingest'],
    ['http://host/pyroscope/ingest/', 'pyroscope', 'http://host/pyroscope/ingest'],
    ['HTTP://host/?key=v#x', 'pyroscope', 'http://host/ingest?key=v'],
    ['otlp+http://host:4318', 'otlp', 'http://host:4318/v1development/profiles'],
    ['OTLP+https://host/base', 'otlp', 'https://host/base/v1development/profiles'],
    ['http://host/v1development/profiles', 'otlp', 'http://host/v1development/profiles'],
  ])('the store address %s selects the protocol %s and the URL %s', (text, protocol, href) => {
    const store = parseStore(text)
    expect([store.protocol, store.url.href]).toEqual([protocol, href])
    expect(store.shown).not.toContain('?')
  })

  it.each([
    '',
    'host:4040',
    '4040',
    'ftp://host',
    'http://',
    'http://a b',
    'http://u:secret@host',
    'http://u:secret@a b',
  ])('the store address %j is refused', (text) => {
    expect(() => parseStore(text)).toThrow(
      expect.objectContaining({
        name: 'BadPushUrl',
        exitCode: 64,
        message: expect.not.stringContaining('secret') as string,
      }) as Error,
    )
  })
})

describe('invalid names and labels are refused', () => {
  it.each(['', 'a b', 'a{}', 'ä', 'x'.repeat(201)])('the service name %j is refused', (name) => {
    expect(() => parseLabels([`service_name=${name}`])).toThrow(
      expect.objectContaining({ name: 'BadLabel' }) as Error,
    )
  })

  it.each([
    ...[
      '',
      'a',
      '=a',
      '1a=b',
      'a-b=c',
      '__name__=x',
      'profile_id=x',
      'a=b,c',
      'a=b}',
      'a={',
      'a= b',
      'a=b ',
      'a=b\n',
    ],
  ])('--label %j is refused', (label) => {
    expect(() => parseLabels([label])).toThrow(expect.objectContaining({ name: 'BadLabel' }) as Error)
  })

  it('a repeated label is refused', () => {
    expect(() => parseLabels(['a=1', 'a=2'])).toThrow(/two labels have this name/)
  })
})
