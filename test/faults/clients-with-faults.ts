// Clients to which something happens at a moment that is chosen.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../support/java-process.ts'

/**
 * Of threads that wait for a client that is stopped: 250 ms, and what a redefinition adds. One that began to wait before may have
 * had most of the second that it has for a client that lives: ASLEEP_MS.
 */
export const STOPPED_ASLEEP_MS = 400
/** What happens in a client, by its environment: FAULT, and FAULT_MS after its start or after it has said FAULT_SAID, or once the file FAULT_AT is there: then FAULT_AT-over is, once it is over. */
const FAULTS = `
const { existsSync, writeFileSync } = require('node:fs')
const { isMainThread } = require('node:worker_threads')
const { FAULT, FAULT_MS, FAULT_AT, FAULT_SAID } = process.env
const hog = []
const faults = {
  'throws': () => { throw new Error('a crash') },
  'aborts': () => process.abort(),
  'stops': () => process.kill(process.pid, 'SIGSTOP'),
  'hangs': () => { for (const end = Date.now() + 60_000; Date.now() < end; ); },
  'sleeps': () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.FAULT_SLEEP_MS)),
  'runs out of memory': () => setInterval(() => { for (let i = 0; i < 1e5; i++) hog.push({ i }) }, 1),
}
const [where, what] = FAULT.split(': ')
if (isMainThread === (where === 'main thread')) {
  if (FAULT_SAID !== undefined) {
    const write = process.stderr.write
    process.stderr.write = (text, ...rest) => {
      const result = write.call(process.stderr, text, ...rest)
      if (!String(text).startsWith(FAULT_SAID)) return result
      if (FAULT_MS === undefined) faults[what]()
      else setTimeout(faults[what], Number(FAULT_MS))
      return result
    }
  } else if (FAULT_MS !== undefined) {
    setTimeout(faults[what], Number(FAULT_MS))
  } else {
    const look = setInterval(() => {
      if (!existsSync(FAULT_AT)) return
      clearInterval(look)
      faults[what]()
      writeFileSync(FAULT_AT + '-over', '')
    }, 5)
  }
}
`
/** The environment of a client to which this happens. */
export function withFault(
  fault: string,
  when: { FAULT_MS?: string; FAULT_AT?: string; FAULT_SAID?: string; FAULT_SLEEP_MS?: string },
  options = '',
): Record<string, string> {
  const faulty = join(temporaryDirectory('jfluid-faults-'), 'faults.cjs')
  writeFileSync(faulty, FAULTS)
  return { FAULT: fault, ...when, NODE_OPTIONS: `--require ${faulty} ${options}` }
}

/** All threads of a process stand still. */
export function allStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
    )
  } catch {
    return false // one of them has ended
  }
}
