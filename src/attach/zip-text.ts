// Reads one small file of a zip file, such as the manifest of a jar (APPNOTE.TXT 4.3). Only the end, the directory and the file are read,
// since the jar of a service may have hundreds of megabytes.

import { closeSync, fstatSync, readSync } from 'node:fs'
import { inflateRawSync } from 'node:zlib'
import { openRegular } from './regular-file.ts'

const END_OF_DIRECTORY = Buffer.of(0x50, 0x4b, 5, 6)
const END_BYTES = 22
const MAX_COMMENT_BYTES = 0xffff
const ENTRY_BYTES = 46
const LOCAL_BYTES = 30
const STORED = 0
/** Maximum size of the part of the directory that is read. Files after it are not found. */
const MAX_DIRECTORY_BYTES = 1 << 20

/**
 * @param mostBytes  maximum size of the file, packed and unpacked
 * @returns undefined if the path is no regular file or no zip file, or if the zip file has no such file
 * @throws an error of the system, or RangeError if the zip file is damaged or the file is larger than `mostBytes`
 */
export function textInZip(path: string, wanted: string, mostBytes: number): string | undefined {
  const file = openRegular(path)
  if (file === undefined) return undefined
  try {
    const { size } = fstatSync(file)
    const read = (at: number, length: number): Buffer => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - at)))
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, at))
    }
    const tail = read(Math.max(0, size - END_BYTES - MAX_COMMENT_BYTES), END_BYTES + MAX_COMMENT_BYTES)
    const end = tail.lastIndexOf(END_OF_DIRECTORY)
    if (end < 0) return undefined
    const [length, start] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)]
    const entry = entryIn(read(start, Math.min(length, MAX_DIRECTORY_BYTES)), wanted)
    if (entry === undefined) return undefined
    const local = read(entry.local, LOCAL_BYTES)
    const at = entry.local + LOCAL_BYTES + local.readUInt16LE(26) + local.readUInt16LE(28)
    if (entry.packed > mostBytes) throw new RangeError(`${wanted} has ${entry.packed} bytes`)
    const packed = read(at, entry.packed)
    const bytes = entry.method === STORED ? packed : inflateRawSync(packed, { maxOutputLength: mostBytes })
    return bytes.toString('utf8')
  } finally {
    closeSync(file)
  }
}

interface Entry {
  readonly method: number
  /** Size in the zip file. */
  readonly packed: number
  /** Position of the local header. */
  readonly local: number
}

function entryIn(directory: Buffer, wanted: string): Entry | undefined {
  for (let at = 0; at + ENTRY_BYTES <= directory.length; ) {
    const [name = 0, extra = 0, comment = 0] = [28, 30, 32].map((offset) =>
      directory.readUInt16LE(at + offset),
    )
    if (directory.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + name) === wanted) {
      return {
        method: directory.readUInt16LE(at + 10),
        packed: directory.readUInt32LE(at + 20),
        local: directory.readUInt32LE(at + 42),
      }
    }
    at += ENTRY_BYTES + name + extra + comment
  }
  return undefined
}
