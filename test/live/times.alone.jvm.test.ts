// The effect of probes and waits on measured times, compared with runs without jfluid. Runs alone, since no other program may use the
// processors.

import { describe, expect, it } from 'vitest'
import { newestOrAll } from '../support/jdks.ts'
import {
  command,
  finished,
  least,
  measured,
  nodeAt,
  phases,
  recorded,
  started,
  stopped,
  sum,
} from './times-program.ts'

describe.each(newestOrAll)('times that exclude the overhead of jfluid, on JDK $version', (jdk) => {
  // The minimum of many rounds is used, as in the report's calibration, since it is free of disturbances.
  it('the cost of probes inside a call (t_I) is subtracted from the callee, and the cost outside a call (t_O) from the caller', async () => {
    const java = await started(jdk)
    await command(java, 'bare 20000 200')
    const bare = Number(/^bare (\d+)$/m.exec(java.stdout())?.[1])
    const recording = await recorded(java)
    await command(java, 'rounds 20000 200')
    const profile = await finished(recording)
    const rounds = profile.threads.map((it) => nodeAt(it.roots, 'task', 'leaves'))
    expect(rounds).toHaveLength(200)
    expect(sum(rounds, (it) => nodeAt([it], 'leaves', 'leaf').calls)).toBe(4e6)

    const { innerNs, outerNs } = profile.calibration
    const callee = least(rounds, (it) => nodeAt([it], 'leaves', 'leaf').measuredNs)
    const caller = least(rounds, (it) => it.measuredNs)
    const whole = least(rounds, measured)
    const total = least(rounds, (it) => it.totalNs)
    // At least half of the added time must be subtracted. Without compensation nothing is subtracted.
    expect(Math.abs(total - bare)).toBeLessThan((whole - bare) / 2)
    expect(Math.abs(callee - 20_000 * innerNs)).toBeLessThan(callee / 2)
    expect(Math.abs(caller - 20_000 * outerNs - bare)).toBeLessThan((caller - bare) / 2)
  })

  // The minimum of many rounds is used, as above. The client's answer takes far longer than loading such a small class.
  it('time in the load hook is excluded from every node', async () => {
    const java = await started(jdk)
    await command(java, 'bareLoads 50 20')
    const bare = Number(/^bare (\d+)$/m.exec(java.stdout())?.[1])
    const recording = await recorded(java)
    await command(java, 'loads 50 10')
    // On a busy machine a new client may answer a first call too late, which is reported as a gap. Such a round is not the minimum, and its
    // node is not charged with more time.
    const profile = await stopped(recording)
    const rounds = phases(java, 'loads')
    const charged = profile.threads.map((it) => nodeAt(it.roots, 'task', 'loads').totalNs)
    expect([rounds.length, charged.length]).toEqual([10, 10])
    const seen = least(rounds, (it) => it.inside)
    const own = Math.min(...charged)
    // If the node were charged with all or half of the wait, its time would not be below the middle.
    expect(own).toBeLessThan((bare + seen) / 2)
    // The JVM's own work for loading is still charged to the node.
    expect(own).toBeGreaterThan(bare / 2)
  })

  it('time that threads wait for the client is reported and excluded from every node', async () => {
    const java = await started(jdk)
    const recording = await recorded(java)
    await command(java, 'leaves 1')
    // Four threads write 48 million events, and the buffer holds two million. For some time the threads write faster than the client reads.
    await command(java, 'leaves 6000000 4')
    const profile = await finished(recording)
    const waited = profile.events.waitMs * 1e6
    const elapsed = sum(phases(java, 'leaves'), (it) => it.task)
    const charged = sum(profile.merged, measured)
    expect(waited).toBeGreaterThan(20e6)
    // elapsed = charged + waited + time of the roots' own probes, for which half of the wait is allowed.
    expect(Math.abs(elapsed - charged - waited)).toBeLessThan(waited / 2)
  })
})
