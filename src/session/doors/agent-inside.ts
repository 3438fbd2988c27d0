// Finds out, without a request to the JVM, which jfluid agent sleeps in the JVM. The JVM keeps the jar of a loaded agent open. The jar
// contains the agent's build id, and can be read even after the file has been removed or replaced.

import { readdirSync } from 'node:fs'
import { textInZip } from '../../attach/zip-text.ts'
import { linkOf } from '../../base/visible.ts'

/**
 * `ours`: the agent is of this build and can be woken.
 * `beside`: the agent is of another build with the same probes, so the agent of this build can be loaded, too.
 * `foreign`: the agent is of a build with other probes, so the agent of this build cannot be loaded.
 */
export type AgentInside = 'ours' | 'beside' | 'foreign'

const NAME = /\/jfluid-agent\.jar(?: \(deleted\))?$/
/** Maximum size of an id. It is needed since a file of another program may have the name of the jar. */
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
    const [build, runtime] = ['runtime/build', 'runtime/id'].map((it) =>
      textInZip(jar, it, MAX_TEXT_BYTES)?.trim(),
    )
    return build === undefined || runtime === undefined ? undefined : { build, runtime }
  } catch {
    return undefined // the file is not a jar, or is damaged
  }
}
