// A request forwarded by an OpenTelemetry Collector, in its JSON (OTLP 1.11.0, "JSON Protobuf Encoding": names in camel case, 64-bit
// integers as strings, ids in hexadecimal). The request is read by field names. otlp-reader.ts reads field numbers, which the Collector has
// already decoded here.

import { type Costs, summed } from './real-stores.ts'
import type { Received } from './stores.ts'

interface TypeOf {
  readonly typeStrindex?: number
  readonly unitStrindex?: number
}

interface Sent {
  readonly resourceProfiles: readonly {
    readonly resource: {
      readonly attributes: readonly {
        readonly key?: string
        readonly keyStrindex?: number
        readonly value: {
          readonly stringValue?: string
          readonly stringValueStrindex?: number
          readonly intValue?: string
        }
      }[]
    }
    readonly scopeProfiles: readonly {
      readonly scope: { readonly name: string }
      readonly profiles: readonly {
        readonly sampleType: TypeOf
        readonly periodType: TypeOf
        readonly period: string
        readonly timeUnixNano: string
        readonly durationNano: string
        readonly profileId: string
        readonly samples?: readonly { readonly stackIndex: number; readonly values: readonly string[] }[]
      }[]
    }[]
  }[]
  readonly dictionary: {
    readonly stringTable: readonly string[]
    readonly functionTable: readonly { readonly nameStrindex?: number }[]
    readonly locationTable: readonly {
      readonly lines?: readonly { readonly functionIndex: number; readonly line?: string }[]
    }[]
    readonly stackTable: readonly { readonly locationIndices?: readonly number[] }[]
  }
}

export interface Collected {
  readonly attributes: Readonly<Record<string, string>>
  readonly scope: string
  readonly profiles: readonly {
    /** "time/nanoseconds" */
    readonly type: string
    readonly period: string
    readonly startedAt: string
    readonly durationMs: number
    readonly id: string
    readonly costs: Costs
  }[]
}

export function collected({ body }: Received): Collected {
  const { resourceProfiles, dictionary } = JSON.parse(body.toString()) as Sent
  const [only, ...others] = resourceProfiles
  const [scoped] = only?.scopeProfiles ?? []
  if (only === undefined || scoped === undefined || others.length > 0) throw new Error('it is of one process')
  const text = (at = 0): string => dictionary.stringTable[at] ?? `no string ${at}`
  const typed = ({ typeStrindex, unitStrindex }: TypeOf): string =>
    `${text(typeStrindex)}/${text(unitStrindex)}`
  const frame = (at: number): string => {
    const { functionIndex, line } = dictionary.locationTable[at]!.lines![0]!
    const name = text(dictionary.functionTable[functionIndex]!.nameStrindex)
    return line === undefined || line === '0' ? name : `${name}:${line}`
  }
  const stack = (at: number): string[] => dictionary.stackTable[at]!.locationIndices!.map(frame).reverse()
  return {
    attributes: Object.fromEntries(
      only.resource.attributes.map(({ key, keyStrindex, value }) => [
        key ?? text(keyStrindex),
        value.intValue ?? value.stringValue ?? text(value.stringValueStrindex),
      ]),
    ),
    scope: scoped.scope.name,
    profiles: scoped.profiles.map((it) => ({
      type: typed(it.sampleType),
      period: `${it.period} ${typed(it.periodType)}`,
      startedAt: new Date(Number(BigInt(it.timeUnixNano) / 1_000_000n)).toISOString(),
      durationMs: Number(it.durationNano) / 1e6,
      id: it.profileId,
      costs: summed(
        (it.samples ?? []).map(({ stackIndex, values }) => [stack(stackIndex), Number(values[0])]),
      ),
    })),
  }
}
