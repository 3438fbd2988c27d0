// A target has its original speed after detach.

import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, startJava } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { until } from './remains.ts'

forNewestJdk((jdk) => {
  it('throughput is restored after detach', async () => {
    // Measures processor time, which does not depend on the load of the machine. Uses the loop `chain`, because the compiled code of `tiny`
    // varies in speed by a factor of two between compilations.
    const java = startJava(jdk, [
      '-cp',
      await compileFixture(jdk, 'Ticker', ['-g']),
      'fix.Ticker',
      '1',
      'chain',
      '1',
    ])
    await java.line(/ready/)
    const speed = async (ms: number): Promise<number[]> => {
      const line = await ask(java, `speed ${ms}`, /^speed \d+ outside \d+$/)
      return (line.match(/\d+/g) ?? []).map(Number)
    }
    await speed(300) // the code is compiled after this
    const before = await speed(400)
    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work')
    await recording.started
    const during = await speed(100)
    await recording.stop()
    // Measured with probes: 1 % of the speed inside the root, and 25 to 60 % outside the root, where probes do nothing. Without probes the
    // speed varies by at most about 10 %.
    expect(during[0]).toBeLessThan(before[0] / 4)
    let after = [0, 0]
    await until(async () => {
      after = await speed(400)
      return after[0] > before[0] * 0.75 && after[1] > before[1] * 0.75
    })
    console.info(
      `JDK ${jdk.version}: ${before} calls a processor second in the root and outside before, ${during} while profiled, ${after} after detach`,
    )
  })
})
