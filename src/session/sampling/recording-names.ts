// Names of jfluid's recordings in a JVM. A name contains the process id of the client, so that the next session can stop the recording of a
// client that was killed:
//    jfluid-<pid namespace>-<pid>-<six random characters>

import { existsSync } from 'node:fs'
import { pidNamespace } from '../doors/session-directory.ts'

const NAME = /^jfluid-(\d+)-(\d+)-\w{1,6}$/

/** Returns a unique name. */
export function recordingName(): string {
  return `jfluid-${pidNamespace()}-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
}

/** Returns whether a recording is no longer in use: its client has ended, or it is an old recording of this process. */
export function isLeftover(name: string): boolean {
  const [, namespace, pid] = NAME.exec(name) ?? []
  if (pid === undefined || namespace !== pidNamespace()) return false
  return Number(pid) === process.pid || !existsSync(`/proc/${pid}`)
}
