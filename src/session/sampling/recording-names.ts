// Names of our recordings in a JVM. They say whose they are, so that the next session ends what a client that was
// killed has left running:
//
//   jfluid-<pid namespace>-<pid>-<six random characters>

import { existsSync } from 'node:fs'
import { pidNamespace } from '../doors/session-directory.ts'

const NAME = /^jfluid-(\d+)-(\d+)-\w{1,6}$/

/** Nobody else's. */
export function recordingName(): string {
  return `jfluid-${pidNamespace()}-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
}

/** Whether nobody will ask for it any more: its client has gone, or is ourselves, who have another. */
export function isLeftover(name: string): boolean {
  const [, namespace, pid] = NAME.exec(name) ?? []
  if (pid === undefined || namespace !== pidNamespace()) return false
  return Number(pid) === process.pid || !existsSync(`/proc/${pid}`)
}
