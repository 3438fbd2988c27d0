// Which agent of ours is asleep in a JVM, without asking it: the JVM keeps the jar open that it was loaded from, and the jar says of what
// build it is, also after it was removed or replaced under its name.

import { readdirSync } from 'node:fs'
import { inflateRawSync } from 'node:zlib'
import { readRegular } from '../../attach/regular-file.ts'
import { linkOf } from '../../base/visible.ts'

/** `ours` is woken; `beside`: another's, but ours can be loaded, too, as both have the same probes; `foreign`: it keeps ours out. */
export type AgentInside = 'ours' | 'beside' | 'foreign'

const NAME = /\/jfluid-agent\.jar(?: \(deleted\))?$/
/** Another program's file may have that name. */
const MOST_BYTES = 16 << 20
const MOST_ENTRIES = 4096
const MOST_TEXT = 256

/** @returns undefined if there is none, or none that can be read */
export function agentInside(pid: number, ourJar: string): AgentInside | undefined {
  const theirs = firstOpen(pid)
  const ours = identityOf(ourJar)
  if (theirs === undefined || ours === undefined) return undefined
  if (theirs.build === ours.build) return 'ours'
  return theirs.runtime === ours.runtime ? 'beside' : 'foreign'
}

interface Identity {
  readonly build: string
  readonly runtime: string
}

/** Of several the one that was loaded first has made itself at home. */
function firstOpen(pid: number): Identity | undefined {
  const directory = `/proc/${pid}/fd`
  try {
    const numbers = readdirSync(directory).map(Number)
    const found = numbers.sort((a, b) => a - b).find((it) => NAME.test(linkOf(`${directory}/${it}`) ?? ''))
    return found === undefined ? undefined : identityOf(`${directory}/${found}`)
  } catch {
    return undefined // not ours to see, or gone
  }
}

/** What `build.mjs` has written into the jar. */
function identityOf(jar: string): Identity | undefined {
  try {
    const bytes = readRegular(jar, { mostBytes: MOST_BYTES })
    if (bytes === undefined) return undefined
    const [build, runtime] = [textIn(bytes, 'runtime/build'), textIn(bytes, 'runtime/id')]
    return build === undefined || runtime === undefined ? undefined : { build, runtime }
  } catch {
    return undefined // no jar, or a damaged one
  }
}

const END_OF_DIRECTORY = Buffer.of(0x50, 0x4b, 5, 6)
const STORED = 0

/** One small file of a zip file (APPNOTE.TXT 4.3). @throws RangeError where it is damaged */
function textIn(zip: Buffer, wanted: string): string | undefined {
  const end = zip.lastIndexOf(END_OF_DIRECTORY)
  if (end < 0) return undefined
  let at = zip.readUInt32LE(end + 16)
  for (let left = Math.min(MOST_ENTRIES, zip.readUInt16LE(end + 10)); left > 0; left--) {
    const [name = 0, extra = 0, comment = 0] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset))
    if (zip.toString('utf8', at + 46, at + 46 + name) === wanted) {
      const local = zip.readUInt32LE(at + 42)
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20))
      const text =
        zip.readUInt16LE(at + 10) === STORED ? packed : inflateRawSync(packed, { maxOutputLength: MOST_TEXT })
      return text.toString('latin1').trim()
    }
    at += 46 + name + extra + comment
  }
  return undefined
}
