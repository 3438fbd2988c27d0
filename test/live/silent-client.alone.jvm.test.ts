// A target thread that waits for a killed client: the time until it stops waiting, also if the killed client gets no processor to exit.

import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { forEachJdk, forNewestJdk } from '../support/jdks.ts'
import { until } from './remains.ts'
import { asleep, BUSY, open, shell } from './silent-client-target.ts'

/** Of those that may be used. */
const PROCESSOR = /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]
/** It stays on one processor. */
const pinned = (command: string) => shell(`exec taskset -c ${PROCESSOR} ${command}`)
/** Fields of a process's stat from the third on; none of one that has gone. */
function statOf(pid: number): string[] {
  if (!existsSync(`/proc/${pid}/stat`)) return []
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
const STATE = 0
const POLICY = 41 - 3
const SCHED_IDLE = '5'

forEachJdk((jdk) => {
  it('a target thread stops waiting early for a killed client', { timeout: 60_000 }, async () => {
    // A machine that has no processor for the target adds to it, so more than once; 250 ms would be the least if nobody looked.
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

// What the kernel tells of a process is the same for all of them.
forNewestJdk((jdk) => {
  it('a target thread stops waiting after 250 ms for a killed client that gets no processor', {
    timeout: 60_000,
  }, async () => {
    // Beside three others it gets a thousandth of the processor.
    for (let n = 0; n < 3; n++) pinned(`sh -c '${BUSY}'`)
    // It may end all the same before the 250 ms are over, and then it tells nothing.
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
