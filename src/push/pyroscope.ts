// Encodes a profile for the ingest endpoint of Pyroscope's HTTP API (Grafana Pyroscope documentation, "Server HTTP API", Ingestion): POST
// /ingest?name=…&from=…&until=… with a multipart form. Its part `profile` is pprof, and `sample_type_config` defines how each kind of value
// is aggregated. A service's name and its labels are one text, `name{key=value,…}`.
// The query omits `format=pprof`: with it Pyroscope parses the whole body as pprof (`readInputRawDataFromRequest`).

import { randomBytes } from 'node:crypto'
import { unsignedPprof } from '../export/pprof.ts'
import { type Value, valuesOf } from '../export/values.ts'
import type { Profile } from '../profile/profile.ts'
import { type Identity, identityText } from './identity.ts'
import type { Draft } from './post.ts'

const SPY_NAME = 'jfluid'

export function pyroscopeRequest(profile: Profile, identity: Identity, address: URL): Draft {
  const url = new URL(address)
  const from = Math.floor(Date.parse(profile.startedAt) / 1000)
  const until = Math.ceil(from + profile.durationMs / 1000)
  for (const [key, value] of [
    ['name', identityText(identity)],
    ['from', `${from}`],
    ['until', `${Math.max(until, from + 1)}`],
    ['spyName', SPY_NAME],
  ] as const) {
    url.searchParams.set(key, value)
  }
  const boundary = `jfluid-${randomBytes(16).toString('hex')}`
  const config = JSON.stringify(Object.fromEntries(valuesOf(profile).map((it) => [it.type, configOf(it)])))
  const type = `multipart/form-data; boundary=${boundary}`
  return { url, headers: { 'content-type': type }, body: formOf(profile, config, boundary) }
}

function* formOf(profile: Profile, config: string, boundary: string): Generator<Uint8Array> {
  yield head(boundary, 'profile', 'profile.pb.gz', 'application/octet-stream')
  yield* unsignedPprof(profile)
  yield Buffer.from('\r\n')
  yield head(boundary, 'sample_type_config', 'sample_type_config.json', 'application/json')
  yield Buffer.from(`${config}\r\n--${boundary}--\r\n`)
}

/** Returns the header of a form part (RFC 7578). */
function head(boundary: string, name: string, file: string, type: string): Buffer {
  return Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${file}"\r\nContent-Type: ${type}\r\n\r\n`,
  )
}

/** Returns the aggregation of a kind of value: live objects are averaged over time, others are summed. Units are named as in Pyroscope. */
function configOf({ type, unit }: Value) {
  const units = type.endsWith('_objects') ? 'objects' : unit === 'count' ? 'samples' : unit
  const aggregation = type.startsWith('inuse_') ? 'average' : 'sum'
  return { units, aggregation, 'display-name': type, sampled: false }
}
