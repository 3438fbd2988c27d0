// Finds out, without a request to the JVM, which jfluid agent sleeps in the JVM. The JVM keeps the jar of a loaded agent open. The jar
// contains the agent's build id, and can be read even after the file has been removed or replaced.

import { readdirSync } from 'node:fs'
import { inflateRawSync } from 'node:zlib'
import { readRegular } from '../../attach/regular-file.ts'
import { linkOf } from '../../base/visible.ts'

/**
 * `ours`: the agent is of this build and can be woken.
 * `beside`: the agent is of another build with the same probes, so the agent of this build can be loaded, too.
 * `foreign`: the agent is of a build with other probes, so the agent of this build cannot be loaded.
 */
export type AgentInside = 'ours' | 'beside' | 'foreign'

const NAME = /\/jfluid-agent\.jar(?: \(deleted\))?$/
/** Maximum sizes of the jar, its directory and an id. They are needed since a file of another program may have the name of the jar. */
const MAX_BYTES = 16 << 20
const MAX_ENTRIES = 4096
const MAX_TEXT_BYTES = 256

/**
 * Identifies the agent in a JVM.
 * @returns undefined if there is no agent, or if its jar cannot be read
 */
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

/** Reads the ids of the agent that was loaded first, since it has defined the probes. A JVM may have several agent jars open. */
function firstOpen(pid: number): Identity | undefined {
  const directory = `/proc/${pid}/fd`
  try {
    const numbers = readdirSync(directory).map(Number)
    const found = numbers.sort((a, b) => a - b).find((it) => NAME.test(linkOf(`${directory}/${it}`) ?? ''))
    return found === undefined ? undefined : identityOf(`${directory}/${found}`)
  } catch {
    return undefined // jfluid has no permission, or the process has ended
  }
}

/** Reads the build id and the runtime id that `build.mjs` has written into the jar. */
function identityOf(jar: string): Identity | undefined {
  try {
    const bytes = readRegular(jar, { mostBytes: MAX_BYTES })
    if (bytes === undefined) return undefined
    const [build, runtime] = [textIn(bytes, 'runtime/build'), textIn(bytes, 'runtime/id')]
    return build === undefined || runtime === undefined ? undefined : { build, runtime }
  } catch {
    return undefined // the file is not a jar, or is damaged
  }
}

const END_OF_DIRECTORY = Buffer.of(0x50, 0x4b, 5, 6)
const STORED = 0

/**
 * Reads one small file from a zip file (APPNOTE.TXT 4.3).
 * @throws RangeError if the zip file is damaged
 */
function textIn(zip: Buffer, wanted: string): string | undefined {
  const end = zip.lastIndexOf(END_OF_DIRECTORY)
  if (end < 0) return undefined
  let at = zip.readUInt32LE(end + 16)
  for (let left = Math.min(MAX_ENTRIES, zip.readUInt16LE(end + 10)); left > 0; left--) {
    const [name = 0, extra = 0, comment = 0] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset))
    if (zip.toString('utf8', at + 46, at + 46 + name) === wanted) {
      const local = zip.readUInt32LE(at + 42)
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const packed = zip.subarray(start, start + zip.readUInt32LE(at + 20))
      const text =
        zip.readUInt16LE(at + 10) === STORED
          ? packed
          : inflateRawSync(packed, { maxOutputLength: MAX_TEXT_BYTES })
      return text.toString('latin1').trim()
    }
    at += 46 + name + extra + comment
  }
  return undefined
}
