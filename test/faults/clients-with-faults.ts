// Clients with a fault that is injected at a chosen moment.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../support/java-process.ts'

/**
 * Maximum wait of a thread for a stopped client: 250 ms, and the time that a redefinition adds. A thread that began to wait before the stop
 * may have used most of the second that it waits for a living client: ASLEEP_MS.
 */
export const STOPPED_ASLEEP_MS = 400
/**
 * Injects the fault FAULT into a client, by environment variables: FAULT_MS after the start, or FAULT_MS after the message FAULT_SAID, or
 * when the file FAULT_AT exists. In the last case the file FAULT_AT-over is created after the fault.
 */
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
/** Returns the environment of a client with this fault. */
export function withFault(
  fault: string,
  when: { FAULT_MS?: string; FAULT_AT?: string; FAULT_SAID?: string; FAULT_SLEEP_MS?: string },
  options = '',
): Record<string, string> {
  const faulty = join(temporaryDirectory('jfluid-faults-'), 'faults.cjs')
  writeFileSync(faulty, FAULTS)
  return { FAULT: fault, ...when, NODE_OPTIONS: `--require ${faulty} ${options}` }
}

/** Returns whether all threads of a process are stopped. */
export function allStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
    )
  } catch {
    return false // a thread has ended
  }
}
