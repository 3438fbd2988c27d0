// Reads an OTLP request by the field numbers of opentelemetry-proto 1.11.0, independent of jfluid's own encoder.

import { gunzipSync } from 'node:zlib'
import type { Received } from './stores.ts'

type Field = readonly [number, bigint | Buffer]

/** Parses the wire format of Protocol Buffers: varints, fields of 8 bytes, and fields with a length. */
function fieldsOf(bytes: Buffer): Field[] {
  const fields: Field[] = []
  let rest = bytes
  const varint = (): bigint => {
    const end = rest.findIndex((byte) => byte < 128) + 1
    if (end === 0) throw new Error('a varint has no end')
    const digits = rest.subarray(0, end)
    rest = rest.subarray(end)
    return digits.reduceRight((sum, byte) => sum * 128n + BigInt(byte % 128), 0n)
  }
  const take = (length: number): Buffer => {
    if (length > rest.length) throw new Error(`${length} bytes of ${rest.length}`)
    const taken = rest.subarray(0, length)
    rest = rest.subarray(length)
    return taken
  }
  while (rest.length > 0) {
    const tag = Number(varint())
    const number = Math.floor(tag / 8)
    if (tag % 8 === 0) fields.push([number, varint()])
    else if (tag % 8 === 1) fields.push([number, take(8).readBigUInt64LE()])
    else if (tag % 8 === 2) fields.push([number, take(Number(varint()))])
    else throw new Error(`wire type ${tag % 8}`)
  }
  return fields
}

class Message {
  readonly #fields: readonly Field[]
  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#fields = fieldsOf(bytes)
  }
  buffers(number: number): Buffer[] {
    return this.#fields.filter(([it]) => it === number).map(([, value]) => value as Buffer)
  }
  all(number: number): Message[] {
    return this.buffers(number).map((bytes) => new Message(bytes))
  }
  one(number: number): Message {
    const found = this.all(number)
    if (found.length !== 1) throw new Error(`${found.length} fields ${number}`)
    return found[0]!
  }
  texts(number: number): string[] {
    return this.buffers(number).map((bytes) => bytes.toString())
  }
  number(number: number): number {
    return Number(this.#fields.find(([it]) => it === number)?.[1] ?? 0n)
  }
  packed(number: number): number[] {
    return this.buffers(number).flatMap((bytes) => packed(bytes))
  }
}

function packed(bytes: Buffer): number[] {
  const numbers: number[] = []
  let [value, unit] = [0, 1]
  for (const byte of bytes) {
    value += (byte % 128) * unit
    unit *= 128
    if (byte >= 128) continue
    numbers.push(value)
    ;[value, unit] = [0, 1]
  }
  return numbers
}

export interface OtlpProfile {
  /** Format: "time/nanoseconds", and the period type. */
  readonly type: string
  readonly period: string
  readonly startNs: number
  readonly durationNs: number
  readonly id: string
  readonly samples: readonly { readonly stack: readonly string[]; readonly value: number }[]
}

export interface Otlp {
  readonly resource: Readonly<Record<string, string | number>>
  readonly scope: string
  readonly profiles: readonly OtlpProfile[]
  /** Bytes of the first element of each table, except that of strings. */
  readonly firsts: readonly number[]
  readonly systemNames: readonly string[]
}

export function otlpOf({ headers, body }: Pick<Received, 'headers' | 'body'>): Otlp {
  const request = new Message(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body)
  const [resources, dictionary] = [request.one(1), request.one(2)]
  const strings = dictionary.texts(5)
  const functions = dictionary.all(3)
  const locations = dictionary.all(2)
  const stacks = dictionary.all(7)
  const text = (at: number): string => strings[at] ?? `no string ${at}`
  const frame = (at: number): string => {
    const line = locations[at]!.one(3)
    const name = text(functions[line.number(1)]!.number(1))
    return line.number(2) === 0 ? name : `${name}:${line.number(2)}`
  }
  const typed = (type: Message): string => `${text(type.number(1))}/${text(type.number(2))}`
  const scopes = resources.one(2)
  return {
    resource: Object.fromEntries(
      resources
        .one(1)
        .all(1)
        .map((it) => {
          const value = it.one(2)
          return [it.texts(1)[0]!, value.texts(1)[0] ?? value.number(3)]
        }),
    ),
    scope: scopes.one(1).texts(1)[0]!,
    profiles: scopes.all(2).map((profile) => ({
      type: typed(profile.one(1)),
      period: `${profile.number(6)} ${typed(profile.one(5))}`,
      startNs: profile.number(3),
      durationNs: profile.number(4),
      id: profile.buffers(7)[0]!.toString('hex'),
      samples: profile.all(2).map((sample) => {
        const [value, ...more] = sample.packed(4)
        if (value === undefined || more.length > 0) throw new Error('a sample has one value')
        return { stack: stacks[sample.number(1)]!.packed(1).map(frame).reverse(), value }
      }),
    })),
    firsts: [1, 2, 3, 4, 6, 7].map((table) => dictionary.buffers(table)[0]!.length),
    systemNames: functions.map((it) => text(it.number(2))).filter((it) => it !== ''),
  }
}
