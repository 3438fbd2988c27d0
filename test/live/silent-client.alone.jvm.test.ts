// A target thread that waits for a killed client. Measures the time until the thread stops waiting, also for a killed client that gets no
// processor and therefore cannot exit.

import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { forEachJdk, forNewestJdk } from '../support/jdks.ts'
import { until } from './remains.ts'
import { asleep, BUSY, open, shell } from './silent-client-target.ts'

/** A processor that this process may use. */
const PROCESSOR = /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]
/** Starts a command that stays on this processor. */
const pinned = (command: string) => shell(`exec taskset -c ${PROCESSOR} ${command}`)
/** Returns the fields of /proc/<pid>/stat from the third on, or an empty list if the process has ended. */
function statOf(pid: number): string[] {
  if (!existsSync(`/proc/${pid}/stat`)) return []
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
const STATE = 0
const POLICY = 41 - 3
const SCHED_IDLE = '5'

forEachJdk((jdk) => {
  it('a thread that waits for a killed client continues early', async () => {
    // A machine without a free processor for the target delays the call, so the test tries several times. If the target did not check the
    // client, the time would be at least 250 ms.
    let least = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < 3 && least > 200; tries++) {
      const reader = asleep()
      const silence = await open(jdk, reader)
      const gone = new Promise((resolve) => reader.once('exit', resolve))
      reader.kill('SIGKILL')
      await gone
      least = Math.min(least, await silence.call())
      await silence.ended
    }
    expect(least).toBeLessThan(200)
  })
})

// The kernel's information about a process is the same for all JDKs.
forNewestJdk((jdk) => {
  it('a thread that waits for a killed client continues after 250 ms if this client gets no processor', async () => {
    // Beside three other processes the client gets one thousandth of the processor.
    for (let n = 0; n < 3; n++) pinned(`sh -c '${BUSY}'`)
    // The client may end within the 250 ms, which proves nothing. The loop then tries again.
    for (let isThere = false; !isThere; ) {
      const reader = pinned(`chrt -i 0 sh -c '${BUSY}'`)
      await until(() => statOf(reader.pid!)[POLICY] === SCHED_IDLE)
      const silence = await open(jdk, reader)
      reader.kill('SIGKILL')
      await silence.call()
      const ended = await silence.ended
      isThere = statOf(reader.pid!)[STATE] === 'R'
      expect(ended).toBe('the client was stopped or killed')
    }
  })
})
