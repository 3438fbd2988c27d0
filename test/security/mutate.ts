// Bytes that are nearly right: what a hostile or damaged other side sends. And what is asked of those who read them: an
// answer, or an error of theirs, soon, and with bounded memory.

import type { Chance } from '../faults/trials.ts'
import { FULL } from '../faults/trials.ts'

/** Inputs that are tried: in `npm test`, and in `npm run test:full`; `JFLUID_TRIES` says otherwise. */
export function inputs(short: number, long: number): number {
  const told = process.env.JFLUID_TRIES
  return told === undefined ? (FULL ? long : short) : Number(told)
}

export function seedOf(): number {
  return Number(process.env.JFLUID_SEED ?? Date.now() % 2 ** 31)
}

const EDGES = [0, 1, 2, 0x7f, 0x80, 0xc1, 0xdd, 0xdf, 0xc6, 0xdb, 0xfe, 0xff]
const LENGTHS = [0, 1, 0x7f, 0xff, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]

/** Up to so many changes, of which most leave the length as it is. */
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
  /** Of the processor, in this process. */
  readonly longestMs: number
  /** By which the process had grown when it was largest. */
  readonly grownMib: number
}

/** Of the processor. An answer that takes longer would hold up a target that waits for one. */
export const SOON_MS = 1000
/** For a test that tries millions. */
export const LONG_MS = FULL ? 3_600_000 : 120_000

/**
 * Tries `work` so often.
 *
 * @param mostMib  the process may grow by
 * @param work     returns whether the input was refused
 */
export async function tryInputs(
  what: string,
  tries: number,
  mostMib: number,
  work: (n: number) => boolean | Promise<boolean>,
): Promise<Told> {
  const before = process.memoryUsage.rss()
  let [refused, longest, largest] = [0, 0, before]
  for (let n = 0; n < tries; n++) {
    const begun = process.cpuUsage()
    if (await work(n)) refused++
    const { user, system } = process.cpuUsage(begun)
    longest = Math.max(longest, (user + system) / 1000)
    if (n % 1000 === 0) largest = Math.max(largest, process.memoryUsage.rss())
  }
  largest = Math.max(largest, process.memoryUsage.rss())
  const grown = Math.round((largest - before) / 2 ** 20)
  console.info(
    `${what}: ${tries} inputs, ${refused} refused, the longest took ${longest.toFixed(1)} ms, grown by ${grown} MiB`,
  )
  if (longest > SOON_MS) throw new Error(`${what}: an input took ${longest} ms`)
  if (grown > mostMib) throw new Error(`${what}: grew by ${grown} MiB`)
  return { tried: tries, refused, longestMs: longest, grownMib: grown }
}
