import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { JfluidError } from '../../src/base/errors.ts'
import { LineSamples } from '../../src/cct/line-samples.ts'
import {
  decodeProfile,
  encodeProfile,
  HEADER_BYTES,
  readProfile,
  VERSION,
  writeProfile,
} from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { FULL } from '../support/lane.ts'
import { REGION } from './region.ts'
import { TIMED } from './root-calls.ts'
import { chain, profileOf, profileOfTree, randomTree, seeded } from './trees.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'jfluid-profile-test-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const small = profileOf('main 1x 10.5ns ( work 2x -54ns ( main 1x 1ns ) other 3000000000x 0ns )', {
  truncated: 'the target ended',
  warnings: ['größer ✓'],
})

/** Returns the error thrown while these bytes are read. */
function errorOf(bytes: Uint8Array): JfluidError {
  try {
    decodeProfile(bytes, 'p.jfluid')
  } catch (error) {
    assert.ok(
      error instanceof JfluidError,
      `not one of ours: ${error instanceof Error ? error.stack : error}`,
    )
    return error
  }
  return assert.fail('it was accepted')
}

/** Returns a file with another body, with length and checksum of that body. */
function sealed(file: Buffer): Buffer {
  const body = file.subarray(HEADER_BYTES)
  file.writeUInt32LE(crc32(body), 12)
  file.writeBigUInt64LE(BigInt(body.length), 16)
  return file
}

describe('a .jfluid file', () => {
  it('a profile is unchanged after writing and reading', () => {
    assert.deepEqual(decodeProfile(encodeProfile(small), 'p'), small)
  })

  it('samples per line are unchanged after writing and reading, and a damaged table is an error', () => {
    const samples = new LineSamples()
    samples.add([1, 2], [10, 21], 2.5)
    samples.add([1], [0])
    const lines = samples.table()
    const profile = { ...small, lines }
    assert.deepEqual(decodeProfile(encodeProfile(profile), 'p'), profile)
    const wrong = [
      { method: Int32Array.from(lines.method, () => 0) },
      { method: Int32Array.from(lines.method, () => small.methodNames.length) },
      { line: Int32Array.from(lines.line, () => -2) },
      { self: lines.self.subarray(1) },
      { total: Float64Array.from(lines.total, () => Number.NaN) },
    ]
    for (const part of wrong) {
      const error = errorOf(encodeProfile({ ...small, lines: { ...lines, ...part } }))
      assert.equal(error.name, 'CorruptProfile', Object.keys(part)[0])
    }
  })

  it('trees 100,000 levels deep, and trees of 200,000 nodes, are unchanged after writing and reading', () => {
    const deep = profileOfTree(chain(100_000), small.methodNames.slice(0, 2))
    assert.deepEqual(decodeProfile(encodeProfile(deep), 'p'), deep)
    const names = Array.from({ length: 101 }, (_, i) => ({ ...small.methodNames[1]!, method: `m${i}` }))
    names[0] = { class: '', method: '', descriptor: '', loader: '' }
    const wide = profileOfTree(randomTree(200_000, 100, seeded(1)), names)
    assert.deepEqual(decodeProfile(encodeProfile(wide), 'p').merged, wide.merged)
  })

  it('an empty profile is a valid file', () => {
    const empty = profileOf('')
    assert.deepEqual(decodeProfile(encodeProfile(empty), 'p'), empty)
  })

  it('a file is replaced atomically and is readable only by its owner, and no temporary file is left', async () => {
    const path = join(directory, 'whole.jfluid')
    writeFileSync(path, 'before')
    await writeProfile(small, path)
    assert.deepEqual(await readProfile(path), small)
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(directory), ['whole.jfluid'])
  })

  it('a file is written through a symbolic link, and to a device, which is not replaced', async () => {
    const path = join(directory, 'real.jfluid')
    writeFileSync(path, '')
    const link = join(directory, 'link.jfluid')
    symlinkSync(path, link)
    await writeProfile(small, link)
    assert.deepEqual(readFileSync(path), encodeProfile(small))
    await writeProfile(small, '/dev/null')
    assert.ok(statSync('/dev/null').isCharacterDevice())
  })
})

describe('errors of unreadable files', () => {
  it('a missing file ends the command with exit code 66', async () => {
    await assert.rejects(readProfile(join(directory, 'none.jfluid')), {
      name: 'CannotReadProfile',
      exitCode: 66,
      message: /none\.jfluid: no such file/,
    })
  })

  it('the error message for a directory differs from the message for a device', async () => {
    await assert.rejects(readProfile(directory), { name: 'CannotReadProfile', message: /it is a directory/ })
    await assert.rejects(readProfile('/dev/zero'), { name: 'NotAProfile' })
  })

  it('a file of another format ends the command with exit code 65', () => {
    for (const text of ['', '{"format":"jfluid-profile"}', '\x7fELF', 'x'.repeat(100)]) {
      const error = errorOf(Buffer.from(text))
      assert.equal(error.name, 'NotAProfile')
      assert.equal(error.exitCode, 65)
    }
  })

  it('a file of a later jfluid version ends the command with exit code 65, and the message has both versions', () => {
    const file = encodeProfile(small)
    file.writeUInt32LE(VERSION + 1, 8)
    const error = errorOf(file)
    assert.equal(error.name, 'NewerProfile')
    assert.match(error.message, new RegExp(`format ${VERSION + 1}, .* up to ${VERSION}`))
  })

  it('a file that is truncated at any byte ends the command with exit code 65, and the message says where the file ends', () => {
    const file = encodeProfile(small)
    for (let length = 1; length < file.length; length++) {
      assert.match(errorOf(file.subarray(0, length)).message, /ends after/, `cut to ${length}`)
    }
  })

  it('a file with any changed bit ends the command with exit code 65', () => {
    const file = encodeProfile(small)
    for (let at = 0; at < file.length; at++) {
      const changed = Buffer.from(file)
      changed[at]! ^= 1 << (at % 8)
      assert.equal(errorOf(changed).exitCode, 65, `byte ${at}`)
    }
  })

  it('inconsistent sizes, missing names and wrong array lengths are refused', () => {
    const tree = small.merged
    const cases: [RegExp, Profile['merged']][] = [
      [/larger than its parent/, { ...tree, size: Int32Array.of(4, 2, 2, 1) }],
      [/larger than its parent/, { ...tree, size: Int32Array.of(4, 0, 1, 1) }],
      [/method without a name/, { ...tree, method: Int32Array.of(1, 2, 9, 3) }],
      [
        /not all numbers/,
        { ...tree, metrics: { ...tree.metrics, calls: Float64Array.of(1, Number.NaN, 1, 1) } },
      ],
      [/no selfNs/, { ...tree, metrics: { calls: tree.metrics.calls! } }],
    ]
    for (const [message, merged] of cases) {
      assert.match(errorOf(encodeProfile({ ...small, merged })).message, message)
    }
  })

  it('random bytes never hang the reader, and cause no error except the documented ones (seed printed on failure)', async () => {
    const seed = Number(process.env.JFLUID_SEED ?? 20261121)
    const random = seeded(seed)
    const old = ['v1-budget', 'v1-waits', 'v2-call-sites', 'v3-alloc', 'v3-regions'].map((name) =>
      readFileSync(new URL(`./files/${name}.jfluid`, import.meta.url)),
    )
    const files = [encodeProfile(small), encodeProfile({ ...small, ...TIMED, regions: [REGION] }), ...old]
    const rounds = FULL ? 20_000 : 2000
    for (let round = 0; round < rounds; round++) {
      // Short values are mutated most often, since each of their bytes matters most.
      const file = files[round % 4 === 0 ? Math.floor(random() * files.length) : round % 2]!
      let changed = Buffer.from(file)
      for (let n = 1 + Math.floor(random() * 3); n > 0; n--) {
        const at = HEADER_BYTES + Math.floor(random() * (changed.length - HEADER_BYTES))
        const way = random()
        if (way < 0.1) changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + 1)])
        else if (way < 0.2) changed = changed.subarray(0, Math.max(at, HEADER_BYTES + 1))
        else changed[at] = Math.floor(random() * 256)
      }
      try {
        decodeProfile(sealed(changed), 'p.jfluid')
      } catch (error) {
        if (error instanceof JfluidError && error.exitCode === 65) continue
        throw new Error(`JFLUID_SEED=${seed}, round ${round}`, { cause: error })
      }
    }
  })
})

describe('errors of files that cannot be written, exit code 73', () => {
  it('a missing directory, a directory, and a file used as a directory are reported', async () => {
    const file = join(directory, 'file')
    writeFileSync(file, '')
    const cases: [string, RegExp][] = [
      [join(directory, 'none', 'p.jfluid'), /no such file or directory/],
      [directory, /it is a directory/],
      [join(file, 'p.jfluid'), /not a directory/],
    ]
    for (const [path, message] of cases) {
      await assert.rejects(writeProfile(small, path), { name: 'CannotWriteProfile', exitCode: 73, message })
    }
  })
})

describe('a large profile', () => {
  const names = Array.from({ length: 70_001 }, (_, i) => ({ ...small.methodNames[1]!, method: `m${i}` }))
  names[0] = { class: '', method: '', descriptor: '', loader: '' }
  const large = profileOfTree(randomTree(300_000, 70_000, seeded(3)), names, {
    threads: Array.from({ length: 20 }, (_, id) => ({ id, name: `t${id}`, tree: small.merged })),
  })
  let path: string
  let turns = 0
  beforeAll(async () => {
    path = join(directory, 'large.jfluid')
    const timer = setInterval(() => turns++, 0)
    await writeProfile(large, path)
    clearInterval(timer)
  })

  it('a large profile that is written in pieces has the same bytes as if written at once', () => {
    assert.ok(readFileSync(path).equals(encodeProfile(large)))
  })

  it('progress of reading a large profile is reported', async () => {
    const parts: number[] = []
    const read = await readProfile(path, (part) => parts.push(part))
    assert.deepEqual(read.merged, large.merged)
    assert.deepEqual(read.methodNames, large.methodNames)
    assert.ok(parts.every((part, i) => part > (parts[i - 1] ?? 0)))
    assert.equal(parts.at(-1), 1)
  })

  it('while a large profile is written, other events are still handled', () => {
    // 17 MB: one turn of the event loop for every 4 MiB of the checksum, and one for each write.
    assert.ok(turns >= 4, `${turns} turns`)
  })
})

describe('a file name near the maximum length', () => {
  it('a file name near the maximum length is written', async () => {
    const path = join(directory, `${'ü'.repeat(124)}.jfluid`) // 255 bytes
    await writeProfile(small, path)
    assert.deepEqual(await readProfile(path), small)
  })

  it('a file name that is too long is reported', async () => {
    await assert.rejects(writeProfile(small, join(directory, `${'x'.repeat(260)}.jfluid`)), {
      name: 'CannotWriteProfile',
      message: /the name is too long/,
    })
  })
})
