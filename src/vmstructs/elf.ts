// Looks up exported symbols of a loaded library in memory, like the dynamic linker. The library file is not read, since the file may have
// been replaced, or be unreachable in another mount namespace. Format: ELF-64, little-endian (System V gABI 5).

import { append } from '../base/arrays.ts'
import type { Memory } from './memory.ts'

const MAGIC = 0x464c457f
const PT_DYNAMIC = 2
const DT_HASH = 4
const DT_STRTAB = 5
const DT_SYMTAB = 6
const DT_GNU_HASH = 0x6ffffef5
const SYMBOL_BYTES = 24
/** Size of a program header entry, and maximum number of entries. Libraries have about ten entries. */
const SEGMENT_BYTES = 56
const MAX_SEGMENTS = 256
/** Maximum number of symbols read from one hash chain. Chains normally have two or three symbols. */
const MAX_CHAIN_LENGTH = 64

/** @returns the address of each symbol; null if the library has another format or a symbol is missing */
export async function symbolAddresses(
  memory: Memory,
  base: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, number> | null> {
  const table = await dynamicTable(memory, base)
  const [symbols, strings] = [DT_SYMTAB, DT_STRTAB].map((tag) => table?.get(tag))
  if (table === null || symbols === undefined || strings === undefined) return null
  const find = await lookupIn(memory, table)
  if (find === null) return null

  const candidates = await find(names)
  const entries = await memory.gather(
    candidates.map(({ index }) => symbols + SYMBOL_BYTES * index),
    SYMBOL_BYTES,
  )
  const texts = await memory.strings(candidates.map((_, i) => strings + entries.u32(i)))
  const found = new Map<string, number>()
  for (const [i, { name }] of candidates.entries())
    if (texts[i] === name && !found.has(name)) found.set(name, base + entries.word(i, 8))
  return names.every((it) => found.has(it)) ? found : null
}

/** A symbol that may have this name. */
interface Candidate {
  readonly name: string
  readonly index: number
}

/** Returns the candidates for all names together: on a busy machine, each request may take 100 ms. */
type Lookup = (names: readonly string[]) => Promise<Candidate[]>

/** Uses the hash table that the library has. Linkers of today write the newer format; some builds of JDK 11 have only the older format. */
async function lookupIn(memory: Memory, table: ReadonlyMap<number, number>): Promise<Lookup | null> {
  const [gnu, sysV] = [DT_GNU_HASH, DT_HASH].map((tag) => table.get(tag))
  if (gnu !== undefined) return await lookupInGnuHash(memory, gnu)
  return sysV === undefined ? null : await lookupInHash(memory, sysV)
}

async function lookupInGnuHash(memory: Memory, hash: number): Promise<Lookup | null> {
  const head = await memory.read(hash, 16)
  const [buckets, firstHashed, bloom] = [0, 4, 8].map((at) => head.u32(0, at))
  if (buckets === 0) return null
  const bucketsAt = hash + 16 + 8 * bloom
  const chainsAt = bucketsAt + 4 * buckets
  return async (names) => {
    const hashes = names.map(gnuHash)
    const firsts = await memory.gather(
      hashes.map((it) => bucketsAt + 4 * (it % buckets)),
      4,
    )
    const chains = await memory.gather(
      names.map((_, i) => (firsts.u32(i) < firstHashed ? 0 : chainsAt + 4 * (firsts.u32(i) - firstHashed))),
      4 * MAX_CHAIN_LENGTH,
    )
    const candidates: Candidate[] = []
    for (const [i, name] of names.entries()) {
      const first = firsts.u32(i)
      for (let k = 0; first >= firstHashed && k < MAX_CHAIN_LENGTH; k++) {
        const hashed = chains.u32(i, 4 * k)
        // The lowest bit of an entry marks the end of the chain, and is not part of the hash.
        if ((hashed | 1) === (hashes[i] | 1)) candidates.push({ name, index: first + k })
        if ((hashed & 1) === 1) break
      }
    }
    return candidates
  }
}

async function lookupInHash(memory: Memory, hash: number): Promise<Lookup | null> {
  const head = await memory.read(hash, 8)
  const [buckets, symbols] = [0, 4].map((at) => head.u32(0, at))
  if (buckets === 0) return null
  const chainsAt = hash + 8 + 4 * buckets
  return async (names) => {
    const candidates: Candidate[] = []
    let places = names.map((name) => ({ name, at: hash + 8 + 4 * (sysVHash(name) % buckets) }))
    for (let length = 0; places.length > 0 && length < MAX_CHAIN_LENGTH; length++) {
      const next = await memory.gather(
        places.map(({ at }) => at),
        4,
      )
      const ends = places.map(({ name }, i) => ({ name, index: next.u32(i) }))
      const others = ends.filter(({ index }) => index !== 0 && index < symbols)
      append(candidates, others)
      places = others.map(({ name, index }) => ({ name, at: chainsAt + 4 * index }))
    }
    return candidates
  }
}

/** Returns the addresses in the dynamic table, keyed by tag. */
async function dynamicTable(memory: Memory, base: number): Promise<ReadonlyMap<number, number> | null> {
  const header = await memory.read(base, 64)
  const isElf64 = header.u32(0) === MAGIC && header.u8(0, 4) === 2 && header.u8(0, 5) === 1
  if (!isElf64) return null
  const [entryBytes, entries] = [header.u16(0, 0x36), header.u16(0, 0x38)]
  if (entryBytes < SEGMENT_BYTES || entryBytes > 2 * SEGMENT_BYTES || entries > MAX_SEGMENTS) return null
  const segments = await memory.read(base + header.word(0, 0x20), entryBytes * entries)
  for (let at = 0; at < entryBytes * entries; at += entryBytes) {
    if (segments.u32(0, at) !== PT_DYNAMIC) continue
    const bytes = Math.min(segments.word(0, at + 0x28), 16 * 256)
    const dynamic = await memory.read(base + segments.word(0, at + 0x10), bytes)
    const table = new Map<number, number>()
    for (let i = 0; i + 16 <= bytes; i += 16) {
      const value = dynamic.word(0, i + 8)
      // When a library is loaded, glibc replaces offsets by addresses; musl keeps the offsets.
      table.set(dynamic.word(0, i), value < base ? base + value : value)
    }
    return table
  }
  return null
}

function gnuHash(name: string): number {
  let h = 5381
  for (let i = 0; i < name.length; i++) h = (Math.imul(h, 33) + name.charCodeAt(i)) >>> 0
  return h
}

function sysVHash(name: string): number {
  let h = 0
  for (let i = 0; i < name.length; i++) {
    h = ((h << 4) + name.charCodeAt(i)) >>> 0
    h = (h ^ ((h >>> 24) & 0xf0)) & 0x0fffffff
  }
  return h
}
