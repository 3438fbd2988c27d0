// Mutated input from a hostile or damaged peer. A reader must return a value or throw one of its own errors, within a
// time limit and with bounded memory.

import { expect } from 'vitest'
import { Chance, type Figure, keepRow, section } from '../faults/trials.ts'
import { FULL } from '../support/lane.ts'

/**
 * Returns the number of inputs: `short` in `npm run test:live` or `npm test`, `long` in `npm run test:full`. `JFLUID_TRIES` overrides both.
 */
export function inputs(short: number, long: number): number {
  const told = process.env.JFLUID_TRIES
  return told === undefined ? (FULL ? long : short) : Number(told)
}

export function seedOf(): number {
  return Number(process.env.JFLUID_SEED ?? Date.now() % 2 ** 31)
}

const EDGES = [0, 1, 2, 0x7f, 0x80, 0xc1, 0xdd, 0xdf, 0xc6, 0xdb, 0xfe, 0xff]
const LENGTHS = [0, 1, 0x7f, 0xff, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]

/** Returns mutated bytes, with at most `most` changes. Most changes keep the length. */
export function mutated(bytes: Uint8Array, chance: Chance, most = 4): Buffer<ArrayBuffer> {
  let out = Buffer.from(bytes)
  for (let left = 1 + Math.floor(chance.next() * most); left > 0; left--) {
    const at = Math.floor(chance.next() * out.length)
    switch (Math.floor(chance.next() * 8)) {
      case 0:
        if (out.length > 0) out[at]! ^= 1 << Math.floor(chance.next() * 8)
        break
      case 1:
        if (out.length > 0) out[at] = chance.of(EDGES)
        break
      case 2:
        if (out.length > 0) out[at] = Math.floor(chance.next() * 256)
        break
      case 3:
        if (at + 4 <= out.length) out.writeUInt32BE(chance.of(LENGTHS), at)
        break
      case 4:
        if (at + 4 <= out.length) out.writeUInt32LE(chance.of(LENGTHS), at)
        break
      case 5:
        out = out.subarray(0, at)
        break
      case 6: {
        const piece = out.subarray(at, at + Math.floor(chance.next() * 16))
        out = Buffer.concat([out.subarray(0, at), piece, out.subarray(at)])
        break
      }
      default: {
        const noise = Buffer.from(Array.from({ length: 4 }, () => Math.floor(chance.next() * 256)))
        out = Buffer.concat([out.subarray(0, at), noise, out.subarray(at)])
      }
    }
  }
  return Buffer.from(out)
}

export interface Told {
  readonly tried: number
  readonly refused: number
  /** Longest processor time for one input. */
  readonly longestMs: number
  /** Largest growth of this process's memory. */
  readonly grownMib: number
}

/** Processor time of one input. A slower answer would stall a target that waits for it. */
export const SOON_MS = 1000
/** A test with millions of inputs ends after this time, with fewer inputs. */
const MINUTES = Number(process.env.JFLUID_FUZZ_MINUTES ?? 50)
/** Timeout of a test, including its setup and cleanup. */
export const LONG_MS = FULL ? MINUTES * 60_000 + 600_000 : 120_000

/** Returns the timeout of one of several runs in a test. */
export const mostMs = (parts = 1): number => (MINUTES * 60_000) / parts

export interface Trying {
  /** Maximum number of inputs; fewer if the time is over. */
  readonly tries: number
  readonly seed: number
  /** Maximum growth of the process. */
  readonly mostMib: number
}

/**
 * Calls `work` for each input, or until the time is over.
 *
 * @param work  returns whether the input was refused
 */
export async function tryInputs(
  what: string,
  { tries, seed, mostMib }: Trying,
  work: () => boolean | Promise<boolean>,
): Promise<Told> {
  const before = process.memoryUsage.rss()
  const until = performance.now() + mostMs()
  let [tried, refused, longest, largest] = [0, 0, 0, before]
  let isRight = false
  try {
    for (; tried < tries && performance.now() < until; tried++) {
      const begun = process.cpuUsage()
      if (await work()) refused++
      const { user, system } = process.cpuUsage(begun)
      longest = Math.max(longest, (user + system) / 1000)
      if (tried % 1000 === 0) largest = Math.max(largest, process.memoryUsage.rss())
    }
    largest = Math.max(largest, process.memoryUsage.rss())
    isRight = longest <= SOON_MS && grown() <= mostMib
  } finally {
    const told = { tried, refused, longestMs: longest, isRight }
    keepInputs(what, '–', told, { 'grown by': [grown(), 'MiB'] })
    console.info(
      `${what}, JFLUID_SEED=${seed}: ${tried} of ${tries} inputs, ${refused} refused, the longest took ${longest.toFixed(1)} ms, ` +
        `grown by ${grown()} MiB`,
    )
  }
  if (longest > SOON_MS) throw new Error(`${what}: an input took ${longest} ms`)
  if (grown() > mostMib) throw new Error(`${what}: grew by ${grown()} MiB`)
  return { tried, refused, longestMs: longest, grownMib: grown() }

  function grown(): number {
    return Math.round((largest - before) / 2 ** 20)
  }
}

type Kind = abstract new (...args: never[]) => Error

/** Reads mutated versions of each of `sources`. Each thrown error must be one of `refusals`. */
export async function fuzzBytes(
  what: string,
  tries: number,
  sources: readonly Uint8Array[],
  read: (bytes: Buffer, chance: Chance) => unknown,
  refusals: readonly Kind[],
): Promise<void> {
  const seed = seedOf()
  const chance = new Chance(seed)
  for (const source of sources) read(Buffer.from(source), chance) // the unchanged input can be read
  const { refused } = await tryInputs(what, { tries, seed, mostMib: 300 }, () => {
    try {
      read(mutated(chance.of(sources), chance, 8), chance)
      return false
    } catch (error) {
      if (refusals.some((kind) => error instanceof kind)) return true
      throw error
    }
  })
  if (refusals.length > 0) expect(refused).toBeGreaterThan(0)
}

/** Adds a row to the fault report. */
export function keepInputs(
  what: string,
  jdk: string,
  told: { tried: number; refused: number; longestMs: number; isRight: boolean },
  figures: Readonly<Record<string, Figure>>,
): void {
  const all = Object.entries({ refused: [told.refused, ''] as const, ...figures })
  keepRow({
    ...{ section: section(), fault: what, jdk, tried: told.tried, failed: 0 },
    // The reader runs without a target here, so no target can be harmed.
    ...{ harmed: null, wrong: told.isRight ? 0 : 1, profilesDue: 0, profilesKept: 0, leftBehind: null },
    ms: { 'of the processor': Math.ceil(told.longestMs) },
    figures: Object.fromEntries(
      all.map(([name, [value, unit]]) => [name, { low: value, median: value, high: value, unit }]),
    ),
  })
}
