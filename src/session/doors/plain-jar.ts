// The agent at a path that a JVM can be told of whatever its locale is, for as long as something may start with it.
//
// Where the locale is C, a JVM takes a path that is not ASCII for another one, which is not there: it ends (-javaagent), or prints a stack trace
// (attach). What is behind `=` are options of the agent, which `;` separates; JAVA_TOOL_OPTIONS is split at blanks, and has quotes.

import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AgentJar } from './agent-jar.ts'
import { AGENT, isNamedByProcess, makeSessionDirectory } from './session-directory.ts'

/** Characters of ASCII that stand for themselves everywhere. */
const PLAIN = /^[!#-&(-:<>-~]+$/
/** Of a path: HotSpot takes 1,023 bytes with an attach command, in which the path stands twice, and a session directory. */
const LONGEST = 400

export function isPlainPath(path: string): boolean {
  return PLAIN.test(path) && path.length <= LONGEST
}

/** A jar to start JVMs with. */
export interface StartJar extends AgentJar {
  /** Removes what was made for it, unless a process may still start JVMs with it: then a later session does. */
  leave(): void
}

/** @throws NoMeetingPlace if a copy has to be made, and there is no room for it */
export function startJar(jar: AgentJar): StartJar {
  if (isPlainPath(jar.path)) return { ...jar, leave: () => {} }
  const bytes = readFileSync(jar.path)
  const dir = makeSessionDirectory(null, bytes.length)
  try {
    dir.put(AGENT, bytes, undefined)
    // The program may start JVMs as other users, too: they would end if they could not read it.
    chmodSync(join(dir.inside, AGENT), 0o444)
    chmodSync(dir.inside, 0o711)
  } catch (problem) {
    dir.remove()
    throw problem
  }
  const leave = (): void => {
    if (!isNamedByProcess(dir.path)) dir.remove()
  }
  return { ...jar, path: join(dir.path, AGENT), leave }
}
