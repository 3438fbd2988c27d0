// Files and replies from a hostile target or another source. The reader returns a value or throws one of its own errors.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  AttachProtocolError,
  agentLoadProblem,
  decodeReply,
  parseProperties,
} from '../../src/attach/command.ts'
import { BadPerfData, parsePerfData, perfFacts } from '../../src/attach/hsperfdata.ts'
import {
  findVmLibrary,
  parseCommandLine,
  parseEnvironment,
  parseStartTicks,
  parseStatus,
} from '../../src/attach/target-process.ts'
import { CorruptProfile, NewerProfile, NotAProfile } from '../../src/profile/errors.ts'
import { decodeProfile, encodeProfile, HEADER_BYTES } from '../../src/profile/file.ts'
import { profileOf } from '../profile/trees.ts'
import { fuzzBytes, inputs, LONG_MS } from './mutate.ts'

const OLD_FILES = join(import.meta.dirname, '../profile/files')

/** Returns a file of counters in the format of HotSpot's perfMemory.hpp. */
function perfData(): Buffer {
  const entry = (name: string, type: string, value: Buffer, vector: number): Buffer => {
    const data = 20 + Math.ceil((name.length + 1) / 8) * 8 + 4
    const bytes = Buffer.alloc(Math.ceil((data + value.length) / 8) * 8)
    bytes.writeUInt32LE(bytes.length, 0)
    bytes.writeUInt32LE(20, 4)
    bytes.writeUInt32LE(vector, 8)
    bytes.write(type, 12)
    bytes.writeUInt32LE(data, 16)
    bytes.write(name, 20)
    value.copy(bytes, data)
    return bytes
  }
  const long = (value: bigint): Buffer => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(value)
    return bytes
  }
  const text = Buffer.from('com.acme.Main --verbose\0')
  const entries = [
    entry('sun.rt.safepointTime', 'J', long(123_456n), 0),
    entry('sun.rt.javaCommand', 'B', text, text.length),
    entry('sun.os.hrt.frequency', 'J', long(1_000_000_000n), 0),
    entry('sun.rt.jvmCapabilities', 'B', Buffer.from('1100000000\0'), 11),
  ]
  const prologue = Buffer.alloc(32)
  prologue.writeUInt32BE(0xcafec0c0, 0)
  prologue.set([1, 2, 0, 1], 4)
  prologue.writeUInt32LE(32, 24)
  prologue.writeUInt32LE(entries.length, 28)
  return Buffer.concat([prologue, ...entries])
}

/** Returns the body with a valid length and checksum, since otherwise the header is refused. */
function sealed(file: Buffer): Buffer {
  if (file.length < HEADER_BYTES) return file
  const body = file.subarray(HEADER_BYTES)
  file.writeUInt32LE(crc32(body), 12)
  file.writeBigUInt64LE(BigInt(body.length), 16)
  return file
}

describe('damaged files and replies', { timeout: LONG_MS }, () => {
  it('damaged performance data is read or refused with BadPerfData', async () => {
    await fuzzBytes(
      'hsperfdata',
      inputs(2_500, 2_000_000),
      [perfData()],
      (bytes) => {
        const data = parsePerfData(bytes)
        expect(data.values.size).toBeLessThanOrEqual(bytes.length / 20)
        return perfFacts(data)
      },
      [BadPerfData],
    )
  })

  it('damaged replies and properties are read as text or refused with AttachProtocolError', async () => {
    const replies = ['0\nreturn code: 0\n', '-1\nException\n', '101\n', '0\n#Mon\na=b\\\n  c\n\\u0041=x\\t\n']
    await fuzzBytes(
      'attach replies',
      inputs(2_500, 2_000_000),
      replies.map((it) => Buffer.from(it)),
      (bytes) => {
        const reply = decodeReply('load', bytes)
        agentLoadProblem(1, 'a.jar', reply)
        parseProperties(reply.bytes.toString('latin1'))
      },
      [AttachProtocolError],
    )
  })

  it('damaged files of /proc are read without an exception', async () => {
    const sources = ['status', 'stat', 'cmdline', 'environ', 'maps'].map((name) =>
      readFileSync(`/proc/self/${name}`).subarray(0, 4096),
    )
    await fuzzBytes(
      'files of /proc',
      inputs(1_500, 1_000_000),
      sources,
      (bytes) => {
        const text = bytes.toString('utf8')
        parseStatus(text)
        parseStartTicks(text)
        parseCommandLine(text)
        parseEnvironment(text)
        findVmLibrary(text)
      },
      [],
    )
  })

  it('damaged profiles are read or refused with a named error', async () => {
    const files = [
      encodeProfile(profileOf('main 2x 1000ns ( work 3x 40ns )')),
      ...readdirSync(OLD_FILES)
        .filter((name) => name.endsWith('.jfluid'))
        .map((name) => readFileSync(join(OLD_FILES, name))),
    ]
    await fuzzBytes(
      '.jfluid files',
      inputs(1_000, 1_000_000),
      files,
      (bytes, chance) =>
        // Usually with a valid header: otherwise the checksum would refuse nearly all inputs.
        decodeProfile(chance.next() < 0.95 ? sealed(bytes) : bytes, 'p.jfluid'),
      [NotAProfile, NewerProfile, CorruptProfile],
    )
  })
})
