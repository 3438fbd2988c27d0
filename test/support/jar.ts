// The classes of a jar, read without a JVM (APPNOTE.TXT 4.3: central directory, stored or deflated).

import { readFileSync } from 'node:fs'
import { inflateRawSync } from 'node:zlib'

export interface JarEntry {
  readonly path: string
  readonly bytes: Uint8Array
}

const END_OF_DIRECTORY = 0x06054b50
const END_BYTES = 22
const STORED = 0
const DEFLATED = 8

/**
 * Returns the files of the jar whose paths match, in the order of its directory.
 *
 * @throws Error if the file is not a zip file, or has 64-bit sizes
 */
export function jarEntries(file: string, wanted: RegExp): JarEntry[] {
  const data = readFileSync(file)
  let end = data.length - END_BYTES
  while (end >= 0 && data.readUInt32LE(end) !== END_OF_DIRECTORY) end--
  const count = end < 0 ? 0xffff : data.readUInt16LE(end + 10)
  if (count === 0xffff) throw new Error(`${file} is no zip file of fewer than 65,535 entries`)
  const entries: JarEntry[] = []
  let at = data.readUInt32LE(end + 16)
  for (let left = count; left > 0; left--) {
    const [method, packed, size] = [
      data.readUInt16LE(at + 10),
      data.readUInt32LE(at + 20),
      data.readUInt32LE(at + 24),
    ]
    const [name, extra, comment] = [28, 30, 32].map((offset) => data.readUInt16LE(at + offset))
    const path = data.toString('utf8', at + 46, at + 46 + name)
    const local = data.readUInt32LE(at + 42)
    at += 46 + name + extra + comment
    if (!wanted.test(path)) continue
    // The extra field of the local header may have another length than the extra field of the directory.
    const start = local + 30 + data.readUInt16LE(local + 26) + data.readUInt16LE(local + 28)
    const content = data.subarray(start, start + packed)
    if (method !== STORED && method !== DEFLATED) throw new Error(`${path} is packed by method ${method}`)
    const bytes = method === STORED ? content : inflateRawSync(content)
    if (bytes.length !== size) throw new Error(`${path} has ${bytes.length} bytes, not ${size}`)
    entries.push({ path, bytes })
  }
  return entries
}

/** Returns the classes for any JVM version: without `META-INF/versions` and module descriptors. */
export function jarClasses(file: string): JarEntry[] {
  return jarEntries(file, /^(?!META-INF\/)(?!.*module-info\.class$).*\.class$/)
}
