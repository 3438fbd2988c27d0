// Real profile servers: a Pyroscope and an OpenTelemetry Collector, if this machine has them. README.md beside this file has their
// versions and sources. They listen only on the loopback interface, send no usage reports, and keep their data in a
// directory that is removed with the test.

import { accessSync, constants, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { until } from '../live/remains.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'

/**
 * Returns the program named by `variable`, or else the program of this name on PATH; undefined if there is none.
 *
 * @throws Error if `variable` names a program that cannot be run, since the user has requested it
 */
export function binary(variable: string, name: string): string | undefined {
  const asked = process.env[variable]
  if (asked !== undefined) {
    if (!isExecutable(asked)) throw new Error(`${variable}=${asked} is no program that can be run`)
    return asked
  }
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false // the file does not exist, or this user may not execute it
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as AddressInfo).port)
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  return ports
}

/** Polls until `isSo` is true, or until the server has ended. */
async function ready(server: JavaProcess, isSo: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    const { exitCode, signalCode } = server.child
    if (exitCode !== null || signalCode !== null)
      throw new Error(`it has ended:\n${server.stderr().slice(-2000)}`)
    return await isSo()
  })
}

/** Methods from the top down, joined by `;`, and the value of that path. */
export type Costs = ReadonlyMap<string, number>

export interface Pyroscope {
  readonly url: string
  /** Profile types of a service, such as "time:calls:count::". */
  types(service: string): Promise<string[]>
  costs(service: string, type: string): Promise<Costs>
}

export async function startPyroscope(program: string): Promise<Pyroscope> {
  const [http, grpc, raft, gossip] = (await freePorts(4)) as [number, number, number, number]
  const cwd = temporaryDirectory('jfluid-pyroscope-') // by default, the server's directories are relative to this directory
  const at = (port: number) => `127.0.0.1:${port}`
  const options: Readonly<Record<string, string>> = {
    // Uses only the current storage layout. A server that also has the old layout reads from it for some minutes after the first profile.
    'architecture.storage': 'v2',
    'usage-stats.enabled': 'false',
    'self-profiling.disable-push': 'true',
    'tracing.enabled': 'false',
    'server.http-listen-address': '127.0.0.1',
    'server.http-listen-port': `${http}`,
    'server.grpc-listen-address': '127.0.0.1',
    'server.grpc-listen-port': `${grpc}`,
    'memberlist.bind-addr': '127.0.0.1',
    'memberlist.bind-port': `${gossip}`,
    'memberlist.advertise-addr': '127.0.0.1',
    'memberlist.advertise-port': `${gossip}`,
    'metastore.address': at(grpc),
    'metastore.raft.bind-address': at(raft),
    'metastore.raft.advertise-address': at(raft),
    'metastore.raft.server-id': at(raft),
    'query-backend.address': at(grpc),
    // Delay before the server reports that it is ready. Only clusters need the delay.
    'metastore.min-ready-duration': '0s',
    'ingester.min-ready-duration': '0s',
    'segment-writer.min-ready-duration': '0s',
  }
  for (const part of ['distributor.ring', 'compactor.ring', 'query-frontend', 'query-scheduler.ring']) {
    Object.assign(options, { [`${part}.instance-addr`]: '127.0.0.1' })
  }
  for (const part of ['store-gateway.sharding-ring', 'overrides-exporter.ring']) {
    Object.assign(options, { [`${part}.instance-addr`]: '127.0.0.1' })
  }
  for (const part of ['ingester', 'segment-writer'])
    Object.assign(options, { [`${part}.lifecycler.addr`]: '127.0.0.1' })
  const args = Object.entries(options).map(([name, value]) => `-${name}=${value}`)
  const server = startProcess(program, args, { cwd })
  const url = `http://${at(http)}`
  await ready(server, async () => {
    const answer = await fetch(`${url}/ready`).catch(() => null) // it does not listen yet
    return (await answer?.text())?.trim() === 'ready'
  })
  return { url, types: (service) => types(url, service), costs: (service, type) => costs(url, service, type) }
}

/** Calls the server's API (querier/v1/querier.proto) by Connect with JSON. */
async function asked<T>(
  url: string,
  method: string,
  question: Readonly<Record<string, unknown>>,
): Promise<T> {
  const now = Date.now()
  const response = await fetch(`${url}/querier.v1.QuerierService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ start: now - 3_600_000, end: now + 60_000, ...question }),
  })
  if (!response.ok) throw new Error(`${method}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}

async function types(url: string, service: string): Promise<string[]> {
  interface Series {
    readonly labelsSet?: readonly { readonly labels: readonly { readonly value: string }[] }[]
  }
  const question = { matchers: [`{service_name="${service}"}`], labelNames: ['__profile_type__'] }
  const { labelsSet = [] } = await asked<Series>(url, 'Series', question)
  return labelsSet.flatMap(({ labels }) => labels.map(({ value }) => value)).sort()
}

async function costs(url: string, service: string, type: string): Promise<Costs> {
  /** google/v1/profile.proto, whose numbers are strings in JSON. */
  interface Merged {
    readonly sample?: readonly { readonly locationId: readonly string[]; readonly value: readonly string[] }[]
    readonly location?: readonly {
      readonly id: string
      readonly line: readonly { readonly functionId: string }[]
    }[]
    readonly function?: readonly { readonly id: string; readonly name: string }[]
    readonly stringTable?: readonly string[]
  }
  const question = { profileTypeID: type, labelSelector: `{service_name="${service}"}` }
  const merged = await asked<Merged>(url, 'SelectMergeProfile', question)
  const names = new Map(merged.function?.map(({ id, name }) => [id, merged.stringTable![Number(name)]!]))
  const frames = new Map(merged.location?.map(({ id, line }) => [id, names.get(line[0]!.functionId)!]))
  return summed(
    (merged.sample ?? []).map(({ locationId, value }) => [
      locationId.map((id) => frames.get(id)!).reverse(),
      Number(value[0]),
    ]),
  )
}

/** Sums over equal stacks. Stacks without cost are left out, as on servers. */
export function summed(samples: Iterable<readonly [stack: readonly string[], value: number]>): Costs {
  const sums = new Map<string, number>()
  for (const [stack, value] of samples) {
    const path = stack.join(';')
    if (value !== 0) sums.set(path, (sums.get(path) ?? 0) + value)
  }
  return new Map([...sums].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export interface Collector {
  /** "otlp+http://127.0.0.1:40123" */
  readonly url: string
}

/** Starts a collector that decodes the requests and forwards them to `next` in its own JSON. */
export async function startCollector(program: string, next: string): Promise<Collector> {
  const [port] = (await freePorts(1)) as [number]
  const exporter = {
    endpoint: next,
    encoding: 'json',
    compression: 'none',
    sending_queue: { enabled: false },
  }
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { otlp_http: { ...exporter, retry_on_failure: { enabled: false } } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { profiles: { receivers: ['otlp'], exporters: ['otlp_http'] } },
    },
  }
  const file = join(temporaryDirectory('jfluid-collector-'), 'config.json') // JSON is YAML
  writeFileSync(file, JSON.stringify(config))
  const args = ['--config', `file:${file}`, '--feature-gates=service.profilesSupport']
  const server = startProcess(program, args)
  const url = `http://127.0.0.1:${port}`
  await ready(server, async () => (await fetch(url).catch(() => null)) !== null)
  return { url: `otlp+${url}` }
}
