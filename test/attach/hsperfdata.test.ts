import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  BadPerfData,
  loopsHaveNoSafepoints,
  mayBelongTo,
  parsePerfData,
  perfFacts,
} from '../../src/attach/hsperfdata.ts'

/** Returns a jvmstat file with these counters, in HotSpot's layout. */
function perfFile(counters: Record<string, bigint | string>, little = true): Buffer {
  const entries = Object.entries(counters).map(([name, value]) => {
    const nameBytes = Buffer.from(`${name}\0`)
    const data = 20 + Math.ceil(nameBytes.length / 8) * 8 + 4
    const valueBytes = typeof value === 'string' ? Buffer.from(`${value}\0`) : Buffer.alloc(8)
    const entry = Buffer.alloc(Math.ceil((data + valueBytes.length) / 8) * 8)
    const u32 = (at: number, n: number) => (little ? entry.writeUInt32LE(n, at) : entry.writeUInt32BE(n, at))
    u32(0, entry.length)
    u32(4, 20)
    u32(8, typeof value === 'string' ? valueBytes.length : 0)
    entry.write(typeof value === 'string' ? 'B' : 'J', 12)
    u32(16, data)
    nameBytes.copy(entry, 20)
    valueBytes.copy(entry, data)
    if (typeof value === 'bigint') {
      if (little) entry.writeBigInt64LE(value, data)
      else entry.writeBigInt64BE(value, data)
    }
    return entry
  })
  const prologue = Buffer.alloc(32)
  prologue.writeUInt32BE(0xcafec0c0, 0)
  prologue.set([little ? 1 : 0, 2, 0, 1], 4)
  const u32 = (at: number, n: number) =>
    little ? prologue.writeUInt32LE(n, at) : prologue.writeUInt32BE(n, at)
  u32(24, 32)
  u32(28, entries.length)
  return Buffer.concat([prologue, ...entries])
}

describe('an hsperfdata file', () => {
  const counters = { 'java.cls.loadedClasses': 480n, 'sun.rt.javaCommand': 'Main ü', 'x.negative': -7n }

  it.each([
    ['little', true],
    ['big', false],
  ])('numbers and strings of hsperfdata are read in %s-endian byte order', (_, little) => {
    const data = parsePerfData(perfFile(counters, little))
    assert.deepEqual(Object.fromEntries(data.values), counters)
    assert.equal(data.accessible, true)
    assert.equal(data.major, 2)
  })

  it('the list of hsperfdata entries ends before an entry that is still being written', () => {
    const file = perfFile(counters)
    const second = 32 + file.readUInt32LE(32)
    file.writeUInt32LE(0, second)
    assert.deepEqual([...parsePerfData(file).values.keys()], ['java.cls.loadedClasses'])
  })

  it('hsperfdata values have types, and missing values are undefined', () => {
    const facts = perfFacts(
      parsePerfData(
        perfFile({
          'sun.rt.jvmCapabilities': `1${'0'.repeat(63)}`,
          'sun.rt.safepointTime': 3_000_000n,
          'sun.os.hrt.frequency': 1_000_000_000n,
          'java.property.java.version': '17.0.15',
        }),
      ),
    )
    // 3,000,000 ticks at 1 GHz are 3 ms
    assert.deepEqual(facts, {
      complete: true,
      attachSupported: true,
      javaVersion: '17.0.15',
      safepointNs: 3_000_000,
    })
  })

  it.each([
    ['Copy:MSC', true],
    ['ParScav:MSC', true],
    ['ParNew:CMS', true],
    ['GarbageFirst', false],
    [undefined, false],
  ])('with the garbage collector %s, compiled loops have no safepoint: %s', (name, expected) => {
    const file = perfFile(name === undefined ? {} : { 'sun.gc.policy.name': name })
    assert.equal(loopsHaveNoSafepoints(perfFacts(parsePerfData(file))), expected)
  })

  it.each<[string, Record<string, bigint | string>, number | undefined]>([
    ['the sum of all collectors', { '0.time': 3_000n, '2.time': 500n, '2.lastEntryTime': 9n }, 7_000],
    [
      'unknown if a collector also counts concurrent work',
      { '0.name': 'Shenandoah partial', '0.time': 3n },
      undefined,
    ],
    ['unknown without collectors', {}, undefined],
  ])('the time in garbage collections, read from hsperfdata, is %s', (_, counters, ns) => {
    const named = Object.entries(counters).map(([name, value]) => [`sun.gc.collector.${name}`, value])
    const file = perfFile({ 'sun.os.hrt.frequency': 500_000_000n, ...Object.fromEntries(named) })
    assert.equal(perfFacts(parsePerfData(file)).collectionNs, ns)
  })

  it.each<[string, (file: Buffer) => Buffer]>([
    ['that is empty', () => Buffer.alloc(0)],
    ['with a truncated prologue', (file) => file.subarray(0, 31)],
    ['with another magic number', (file) => file.fill(0x7f, 0, 4)],
    ['of version 1', (file) => file.fill(1, 5, 6)],
    ['whose first entry is inside the prologue', (file) => file.fill(0, 24, 28)],
    ['whose first entry is not aligned', (file) => file.fill(33, 24, 25)],
    ['whose first entry is after the end of the file', (file) => file.fill(0xf0, 24, 28)],
    ['with an entry whose name is after its data', (file) => file.fill(0xff, 36, 37)],
    ['with data after the end of their entry', (file) => file.fill(0xff, 48, 49)],
    ['with an entry of one byte', (file) => file.fill(0, 32, 36).fill(1, 32, 33)],
    ['with a truncated entry', (file) => file.subarray(0, -12)],
  ])('an hsperfdata file %s is refused as damaged', (_, damage) => {
    assert.throws(() => parsePerfData(damage(perfFile(counters))), BadPerfData)
  })

  it('a damaged hsperfdata file is read with fewer values or refused, and causes no other error', () => {
    const seed = Math.trunc(Math.random() * 2 ** 31)
    let state = seed
    const random = (n: number) => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
      return (state >>> 8) % n
    }
    for (let round = 0; round < 3000; round++) {
      const file = perfFile(counters)
      for (let byte = random(4); byte >= 0; byte--) file[random(file.length)] = random(256)
      try {
        perfFacts(parsePerfData(file.subarray(0, file.length - random(2) * random(file.length))))
      } catch (problem) {
        assert.ok(problem instanceof BadPerfData, `seed ${seed}, round ${round}: ${problem}`)
      }
    }
  })
})

describe('hsperfdata of a process with unreadable maps', () => {
  const times = { startedAt: 1_000_000, vmStartedAt: 1_060_000 }
  const belongs = (createdAt: number): boolean => mayBelongTo({ complete: true, createdAt }, times)

  it('an hsperfdata file belongs to a JVM if its creation time is between the start of the process and the start of the VM thread', () => {
    assert.deepEqual([999_000, 1_000_000, 1_060_000, 1_061_000].map(belongs), [true, true, true, true])
    assert.deepEqual([900_000, 1_100_000].map(belongs), [false, false])
  })

  it('an unreadable hsperfdata file and an hsperfdata file without a creation time are not refused', () => {
    assert.equal(mayBelongTo(undefined, times), true)
    assert.equal(mayBelongTo({ complete: true }, times), true)
  })
})
