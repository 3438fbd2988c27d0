// Encodes a profile in OTLP: opentelemetry-proto 1.11.0, profiles/v1development/profiles.proto and
// collector/profiles/v1development/profiles_service.proto. The format is in development: other versions may be incompatible.
// The encoding is protobuf, the default of Go's receivers and the Collector. jfluid has its own encoder (protobuf.ts): pprof-format
// supports only pprof's messages, and a protobuf library would be jfluid's largest dependency, used for only one message.
//
//   request    1 resource profiles, 2 dictionary
//   resource profiles   1 resource (1 attributes), 2 scope profiles (1 scope (1 name), 2 profiles)
//   profile    1 type of its values, 2 samples, 3 start time in ns (fixed64), 4 duration in ns, 5 type of the period, 6 period, 7 id
//   type       1 name, 2 unit: both are indices of strings
//   sample     1 stack, 4 values (packed)
//   dictionary 1 mappings, 2 locations, 3 functions, 4 links, 5 strings, 6 attributes, 7 stacks
//   location   3 lines (1 function, 2 line);  function   1 name, 2 system name;  stack   1 locations, leaf first
//   attribute  1 key, 2 value (1 text, 3 whole number)
//
// Numbers are indices into the dictionary's lists; element 0 of each list means none. OTLP allows one kind of value per profile, so a
// request has one profile for each kind, and these profiles share their stacks. jfluid counts every unit, so the period is 1 in the same
// unit. Pyroscope names a profile by its period. Values of zero or less are omitted.

import { createHash } from 'node:crypto'
import { Numbers } from '../base/numbers.ts'
import { holdsBytes } from '../cct/allocation.ts'
import { frameNames, moveTo } from '../export/frames.ts'
import { gzip } from '../export/gzip.ts'
import { Locations } from '../export/locations.ts'
import { type Value, valuesOf } from '../export/values.ts'
import { wholeNumbers } from '../export/whole-numbers.ts'
import { column, type Profile } from '../profile/profile.ts'
import { PushNotUnderstood, PushRefused } from './errors.ts'
import type { Identity } from './identity.ts'
import { type Draft, saidIn } from './post.ts'
import { decode, Fields, inBlocks, measured, nested, type Part } from './protobuf.ts'

export const OTLP_TYPE = 'application/x-protobuf'

export function otlpRequest(profile: Profile, identity: Identity, url: URL): Draft {
  return {
    url,
    headers: { 'content-type': OTLP_TYPE, 'content-encoding': 'gzip' },
    body: bodyOf(profile, identity),
  }
}

function* bodyOf(profile: Profile, identity: Identity): Generator<Uint8Array> {
  yield* gzip(piecesOf(yield* otlpMessage(profile, identity)))
}

function* piecesOf(parts: readonly Part[]): Generator<Uint8Array> {
  for (const part of parts) yield* part.pieces()
}

/**
 * Encodes an ExportProfilesServiceRequest.
 *
 * @yields empty arrays at intervals, so that other tasks can run: a large tree takes long before the first byte
 */
function* otlpMessage(profile: Profile, identity: Identity): Generator<Uint8Array, Part[]> {
  const strings = new Numbers([''])
  const contexts = new Contexts(profile)
  const content = createHash('sha256')
  const stacks = yield* measured(() => inBlocks(contexts.stacks()), content)
  const samples: Part[] = []
  for (const at of contexts.values.keys()) {
    samples.push(yield* measured(() => inBlocks(contexts.samples(at)), content))
  }
  const scope = new Fields().message(1, new Fields().put(1, 'jfluid'))
  const resource = new Fields().message(1, resourceOf(profile, identity))
  const functions = new Fields().put(3, '')
  const locations = new Fields().put(2, '')
  for (const { function: number, line, isFirst, name, systemName } of contexts.locations.all()) {
    locations.message(2, new Fields().message(3, new Fields().number(1, number).number(2, line)))
    if (!isFirst) continue
    const system = systemName === '' ? 0 : strings.of(systemName)
    functions.message(3, new Fields().number(1, strings.of(name)).number(2, system))
  }
  for (const part of [functions, locations, stringFields(strings)]) content.update(part.bytes)
  const digest = content.digest('hex')
  const profiles = contexts.values.map((value, at) =>
    nested(2, [profileHead(profile, value, strings, digest), samples[at]!]),
  )
  const link = new Fields().put(1, new Uint8Array(16)).put(2, new Uint8Array(8))
  const others = new Fields().put(1, '').message(4, link).put(6, '')
  return [
    nested(1, [resource, nested(2, [scope, ...profiles])]),
    nested(2, [others, locations, functions, stringFields(strings), new Fields().put(7, ''), stacks]),
  ]
}

/** Encodes all fields except the samples. */
function profileHead(
  { startedAt, durationMs, target }: Profile,
  value: Value,
  strings: Numbers<string>,
  digest: string,
): Fields {
  const type = new Fields().number(1, strings.of(value.type)).number(2, strings.of(value.unit))
  // The id is the same for each push, so that a store can recognise a repeated profile. With --reproducible, only the contents distinguish
  // two profiles.
  const facts = [startedAt, target.pid, durationMs, target.mainClass, digest, value.type]
  const id = createHash('sha256').update(JSON.stringify(facts)).digest()
  return new Fields()
    .message(1, type)
    .fixed64(3, BigInt(Math.max(0, Date.parse(startedAt))) * 1_000_000n)
    .number(4, Math.round(durationMs * 1e6))
    .message(5, type)
    .number(6, 1)
    .put(7, id.subarray(0, 16))
}

/** OpenTelemetry's attribute names for jfluid's labels. OpenTelemetry has no names for the last three. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  pid: 'process.pid',
  version: 'service.version',
  host: 'host.name',
  namespace: 'k8s.namespace.name',
  pod: 'k8s.pod.name',
  container: 'k8s.container.name',
  depth: 'jfluid.depth',
  overhead: 'jfluid.overhead',
  longest_pause: 'jfluid.longest_pause',
}

function resourceOf({ target }: Profile, { service, labels }: Identity): Fields {
  const resource = new Fields()
  const add = (key: string, value: string): void => {
    const isNumber = key === 'process.pid' && /^\d{1,15}$/.test(value)
    const any = isNumber ? new Fields().number(3, Number(value)) : new Fields().put(1, value)
    resource.message(1, new Fields().put(1, key).message(2, any))
  }
  add('service.name', service)
  add('process.runtime.name', target.vm)
  add('process.runtime.version', target.jdk)
  for (const [key, value] of labels) add(ATTRIBUTES[key] ?? key, value)
  return resource
}

function stringFields(strings: Numbers<string>): Fields {
  const fields = new Fields(1 << 12)
  for (const text of strings.keys()) fields.put(5, text)
  return fields
}

/** Contexts with a nonzero cost. Each context has a stack, and one sample for each kind of value. */
class Contexts {
  readonly values: readonly Value[]
  readonly locations: Locations
  /** Stack index per node; 0 for none. */
  readonly #stack: Int32Array

  constructor(private readonly profile: Profile) {
    const { merged } = profile
    this.values = valuesOf(profile)
    this.locations = new Locations(frameNames(profile))
    this.#stack = new Int32Array(merged.count)
    for (let at = 0; at < this.values.length; at++) {
      for (const { node } of this.#costs(at)) this.#stack[node] = 1
    }
    let last = 0
    for (let node = 0; node < merged.count; node++) {
      if (this.#stack[node] !== 0) this.#stack[node] = ++last
    }
  }

  *stacks(): Generator<Fields> {
    const { merged } = this.profile
    const path: number[] = []
    for (let node = 0; node < merged.count; node++) {
      moveTo(path, node, merged.size)
      if (this.#stack[node] === 0) continue
      yield new Fields().message(7, new Fields().numbers(1, this.locations.stackOf(merged, path)))
    }
  }

  *samples(at: number): Generator<Fields> {
    for (const { node, cost } of this.#costs(at)) {
      yield new Fields().message(2, new Fields().number(1, this.#stack[node]!).numbers(4, [cost]))
    }
  }

  *#costs(at: number): Generator<{ readonly node: number; readonly cost: number }> {
    const { merged } = this.profile
    const { column: name, of } = this.values[at]!
    const next = wholeNumbers(column(merged, name))
    for (let node = 0; node < merged.count; node++) {
      const cost = next(node)
      if (cost <= 0) continue
      const kind = holdsBytes(this.locations.nameOf(merged.method[node]!)) ? 'classes' : 'methods'
      if (of === undefined || of === kind) yield { node, cost }
    }
  }
}

/**
 * Reads a store's reply to an accepted request: ExportProfilesServiceResponse. Its field 1 describes the rejected part (1: number of
 * profiles, 2: reason).
 *
 * @returns a further message of the store; null if none
 * @throws PushRefused, PushNotUnderstood
 */
export function otlpAnswer(body: Uint8Array, store: string, secrets: readonly string[]): string | null {
  let rejected: bigint
  let said: string
  try {
    const [partial] = decode(body).get(1) ?? []
    if (!(partial instanceof Uint8Array)) return null
    const fields = decode(partial)
    const [count = 0n] = fields.get(1) ?? []
    const [text = new Uint8Array(0)] = fields.get(2) ?? []
    if (typeof count !== 'bigint' || typeof text === 'bigint') throw new RangeError('fields of other types')
    rejected = BigInt.asIntN(64, count)
    said = saidIn(text, secrets)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new PushNotUnderstood(store, `its answer is not OTLP: ${error.message}`)
  }
  if (rejected > 0n)
    throw new PushRefused(store, `it rejected ${rejected} profiles${said === '' ? '' : `: ${said}`}`)
  return said === '' ? null : said
}
