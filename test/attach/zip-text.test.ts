// One file of a zip file, read without reading the whole zip file.

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { textInZip } from '../../src/attach/zip-text.ts'

const directory = mkdtempSync(join(tmpdir(), 'jfluid-zip-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Writes a zip file (APPNOTE.TXT 4.3): local headers with data, directory, end of directory. */
function zipOf(name: string, files: Record<string, string>, comment = ''): string {
  const locals: Buffer[] = []
  const entries: Buffer[] = []
  let at = 0
  for (const [path, text] of Object.entries(files)) {
    const isPacked = text.length > 20
    const data = isPacked ? deflateRawSync(text) : Buffer.from(text)
    const extra = Buffer.alloc(5)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(path.length, 26)
    local.writeUInt16LE(extra.length, 28)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(isPacked ? 8 : 0, 10)
    entry.writeUInt32LE(data.length, 20)
    entry.writeUInt16LE(path.length, 28)
    entry.writeUInt32LE(at, 42)
    locals.push(local, Buffer.from(path), extra, data)
    at += 30 + path.length + extra.length + data.length
    entries.push(entry, Buffer.from(path))
  }
  const all = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt32LE(all.length, 12)
  end.writeUInt32LE(at, 16)
  end.writeUInt16LE(comment.length, 20)
  const file = join(directory, name)
  writeFileSync(file, Buffer.concat([...locals, all, end, Buffer.from(comment)]))
  return file
}

const MANIFEST = 'META-INF/MANIFEST.MF'
const LONG = 'Implementation-Version: 1.4\n'.repeat(9)

it('stored and packed files are read', () => {
  const zip = zipOf('a.jar', { a: 'x', [MANIFEST]: LONG, 'runtime/id': 'short' }, 'a comment')
  expect(textInZip(zip, MANIFEST, 1000)).toBe(LONG)
  expect(textInZip(zip, 'runtime/id', 1000)).toBe('short')
  expect(textInZip(zip, 'b', 1000)).toBe(undefined)
})

it('a file that is larger than the limit, and a damaged zip file, are errors or no file', () => {
  const zip = zipOf('b.jar', { [MANIFEST]: LONG })
  expect(() => textInZip(zip, MANIFEST, 10)).toThrow(RangeError)
  expect(() => textInZip(zip, MANIFEST, 100)).toThrow(RangeError)
  truncateSync(zip, 40)
  expect(textInZip(zip, MANIFEST, 1000)).toBe(undefined)
  expect(textInZip(directory, MANIFEST, 1000)).toBe(undefined)
})
