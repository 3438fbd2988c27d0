// Data that the agent reads from the JVM's own memory. The JVM may have another layout, change its data during a read, or be
// hostile. The reader answers within limits of time and memory, or reports that the data are invalid.

import { beforeAll, describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Memory, type MemoryPort, VmNotUnderstood } from '../../src/vmstructs/memory.ts'
import { MethodPlaces } from '../../src/vmstructs/method-places.ts'
import { type HeldCode, HeldCodes, isOriginal } from '../../src/vmstructs/original-code.ts'
import { readStructs, type Structs } from '../../src/vmstructs/structs.ts'
import { Agent } from '../../src/wire/agent.ts'
import { Chance } from '../faults/trials.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { inputs, LONG_MS, mutated, seedOf, tryInputs } from './mutate.ts'

/** Classes of the JDK. */
const CLASSES = [
  'String',
  'StringLatin1',
  'Integer',
  'Character',
  'Math',
  'StringBuilder',
  'AbstractStringBuilder',
]

/** An answer of the JVM, and its mutated replacement. */
class Recorded implements MemoryPort {
  readonly #library: number
  readonly #pieces: Map<string, Uint8Array>
  readonly #mirrors: ReadonlyMap<number, number>
  readonly #places: readonly string[]
  #changed = new Map<string, Uint8Array>()
  #unknown: Chance | null = null
  /** Size of all parts of one request. */
  mostBytes = 0

  constructor(library: number, pieces: Map<string, Uint8Array>, mirrors: ReadonlyMap<number, number>) {
    this.#library = library
    this.#pieces = pieces
    this.#mirrors = mirrors
    this.#places = [...pieces.keys()]
  }

  get places(): number {
    return this.#places.length
  }

  /** Changes bytes in some places until the next call. Bytes that were never read are zero or random. */
  damage(chance: Chance, many: number): void {
    this.#changed = new Map()
    for (let i = 0; i < many; i++) {
      const place = chance.of(this.#places)
      const bytes = this.#pieces.get(place)!
      this.#changed.set(place, sized(mutated(bytes, chance), bytes.length))
    }
    this.#unknown = chance.next() < 0.5 ? chance : null
  }

  async vmLibrary(): Promise<number> {
    return this.#library
  }

  async mirrorWords(offset: number, classIds: readonly number[]): Promise<Uint8Array> {
    expect(offset).toBeLessThanOrEqual(256)
    const words = new BigUint64Array(classIds.map((id) => BigInt(this.#mirrors.get(id) ?? 0)))
    return new Uint8Array(words.buffer)
  }

  async peek(length: number, addresses: Uint8Array): Promise<Uint8Array> {
    this.mostBytes = Math.max(this.mostBytes, (length * addresses.length) / 8)
    const all = new Uint8Array((length * addresses.length) / 8)
    addressesOf(addresses).forEach((address, i) => {
      const bytes = this.#at(`${address}/${length}`)
      if (bytes !== undefined) all.set(bytes, i * length)
      else if (this.#unknown !== null && address !== 0) {
        for (let k = 0; k < length && k < 4096; k++) all[i * length + k] = this.#unknown.next() * 256
      }
    })
    return all
  }

  #at(place: string): Uint8Array | undefined {
    return this.#changed.get(place) ?? this.#pieces.get(place)
  }
}

function addressesOf(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: bytes.length / 8 }, (_, i) => Number(view.getBigUint64(8 * i, true)))
}

function sized(bytes: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length)
  out.set(bytes.subarray(0, length))
  return out
}

/** Reads from a JVM and keeps all its answers. */
function recorder(port: MemoryPort) {
  const pieces = new Map<string, Uint8Array>()
  const mirrors = new Map<number, number>()
  const memory: MemoryPort = {
    vmLibrary: () => port.vmLibrary(),
    async mirrorWords(offset, ids) {
      const words = await port.mirrorWords(offset, ids)
      for (const [i, word] of addressesOf(words).entries()) mirrors.set(ids[i]!, word)
      return words
    },
    async peek(length, addresses) {
      const bytes = await port.peek(length, addresses)
      addressesOf(addresses).forEach((address, i) => {
        pieces.set(`${address}/${length}`, bytes.slice(i * length, (i + 1) * length))
      })
      return bytes
    },
  }
  return { memory, pieces, mirrors }
}

/** Sends every kind of request. @returns number of methods read; 0 if the JVM is unknown */
async function readAll(port: MemoryPort, structs: Structs, ids: readonly number[]): Promise<number> {
  const memory = new Memory(port)
  const places = await MethodPlaces.open(memory, port, structs)
  if (places === null) return 0
  const methods = [...(await places.addresses(ids)).values()].flatMap((it) => [...it.values()])
  await HeldCodes.open(memory, structs)?.of(methods)
  return methods.length
}

/** Returns a table in which some fields have other offsets or are unknown. */
function damaged(structs: Structs, chance: Chance): Structs {
  const wrong = chance.of([0, 0.02, 0.1])
  const other = (value: number | undefined): number | undefined =>
    chance.next() >= wrong ? value : chance.of([undefined, 0, 1, 7, 4095, 65_535, (value ?? 0) + 8])
  return {
    offset: (name) => other(structs.offset(name)),
    sizeOf: (name) => other(structs.sizeOf(name)),
    address: (name) => structs.address(name),
  }
}

describe('a reader of damaged JVM memory', { timeout: LONG_MS }, () => {
  let port: Recorded
  let structs: Structs
  let ids: number[]
  let library: number
  let own: { code: ReturnType<typeof parseCode>; held: HeldCode }[]

  beforeAll(async () => {
    const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker', '1'])
    await java.line(/ready/)
    const door = await attachDoor(java.pid)
    const agent = new Agent(door.link)
    await agent.hello()
    const { classes } = await agent.loadedClasses()
    ids = classes.filter(({ name }) => CLASSES.some((it) => name === `java/lang/${it}`)).map(({ id }) => id)
    const { memory: source, pieces, mirrors } = recorder(agent)
    library = await agent.vmLibrary()
    structs = (await readStructs(new Memory(source), library))!
    expect(await readAll(source, structs, ids)).toBeGreaterThan(100)
    own = await codes(agent, source, structs, ids)
    port = new Recorded(library, pieces, mirrors)
    door.leave()
    door.link.close()
    await java.kill()
  }, 60_000)

  it('damaged memory of a JVM is read, or refused with VmNotUnderstood', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    let read = 0
    const { tried, refused } = await tryInputs(
      'data of a JVM',
      { tries: inputs(15, 20_000), seed, mostMib: 800 },
      async () => {
        port.damage(chance, Math.floor(chance.next() * 40))
        try {
          read += await readAll(port, damaged(structs, chance), ids)
          return false
        } catch (error) {
          if (error instanceof VmNotUnderstood) return true
          throw error
        }
      },
    )
    expect(port.mostBytes).toBeLessThanOrEqual(4 << 20)
    expect(read).toBeGreaterThan(tried)
    expect(refused).toBeLessThan(tried)
  })

  it('a damaged table of JVM structures is read, or refused with VmNotUnderstood', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    let known = 0
    await tryInputs('tables of a JVM', { tries: inputs(10, 20_000), seed, mostMib: 800 }, async () => {
      port.damage(chance, Math.floor(chance.next() * 40))
      try {
        if ((await readStructs(new Memory(port), library)) !== null) known++
        return false
      } catch (error) {
        if (error instanceof VmNotUnderstood) return true
        throw error
      }
    })
    expect(known).toBeGreaterThan(0)
  })

  it('damaged bytecode is compared with the code of a class file without an exception', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    expect(own.length).toBeGreaterThan(50)
    for (const { code, held } of own) expect(isOriginal(held, code)).toBe(true)
    let other = 0
    await tryInputs('codes of methods', { tries: inputs(5000, 2_000_000), seed, mostMib: 300 }, () => {
      const { code, held } = chance.of(own)
      const bytecode = mutated(held.bytecode, chance)
      const isOwn = isOriginal({ ...held, bytecode }, code)
      if (!isOwn) other++
      return !isOwn
    })
    expect(other).toBeGreaterThan(0)
  })
})

/** Returns the code of class files, and the code in the JVM. */
async function codes(agent: Agent, source: MemoryPort, structs: Structs, ids: readonly number[]) {
  const memory = new Memory(source)
  const places = await (await MethodPlaces.open(memory, source, structs))!.addresses(ids)
  const held = HeldCodes.open(memory, structs)!
  const bytes = await agent.classBytes(ids)
  const found: { code: ReturnType<typeof parseCode>; held: HeldCode }[] = []
  for (const [i, id] of ids.entries()) {
    const of = bytes[i]
    if (of === null || of === undefined) continue
    const file = parseClassFile(of)
    const methods = file.methods.filter((it) => it.code !== undefined)
    const inJvm = await held.of(methods.map((it) => places.get(id)?.get(it.name + it.descriptor) ?? 0))
    methods.forEach((method, k) => {
      const it = inJvm[k]
      if (it && it.bytecode.length > 0) found.push({ code: parseCode(file, method), held: it })
    })
  }
  return found
}
