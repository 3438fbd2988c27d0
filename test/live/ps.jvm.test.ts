// The cost of an attach that `jfluid ps` predicts, compared with an attach.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { AUTOSAVED, jfluid, recordedSoFar, startRecording } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { doctor, problems, start } from './doctor-json.ts'

interface Listed {
  readonly pid: number
  readonly attachCost?: { readonly pauseMs?: { readonly min: number; readonly max: number } }
}

async function listed(pid: number): Promise<{ line: string | undefined; json: Listed | undefined }> {
  const text = await jfluid('ps')
  const { jvms } = JSON.parse((await jfluid('ps', '--json')).stdout) as { jvms: Listed[] }
  return {
    line: text.stdout.split('\n').find((it) => it.startsWith(`${pid} `)),
    json: jvms.find((it) => it.pid === pid),
  }
}

forEachJdk((jdk) => {
  it('the pause predicted at an attach is roughly within the bounds that ps prints', async () => {
    const java = await start(jdk)
    const { line, json } = await listed(java.pid)
    expect(line).toMatch(/ yes, \d+(-\d+)? ms {2,}fix\.Ticker$/)
    const { min, max } = json!.attachCost!.pauseMs!
    const asked = ['--root', 'fix.Ticker.work', '--scheme', 'adaptive', ...AUTOSAVED]
    const recording = startRecording(java.pid, ...asked)
    await recordedSoFar(recording)
    const predictedMs = (await recording.stop()).stacks?.pauses[0]?.predictedMs
    // Each process measures how slow the memory is, as a factor from 1 to 8. On a machine under load, two measurements differ.
    expect(predictedMs).toBeGreaterThan(min / 10)
    expect(predictedMs).toBeLessThan(max * 10)
  })

  itInFull('ps, doctor and record refuse a JVM that has too little metaspace for an attach', async () => {
    const java = await start(jdk, '-XX:MaxMetaspaceSize=5m')
    expect((await listed(java.pid)).line).toMatch(/ no: no metaspace left {2,}fix\.Ticker$/)
    const told = await doctor(java)
    expect([told.exitCode, problems(told)]).toEqual([STATUS.notNow, ['metaspace']])
    const asked = [
      '--root',
      'fix.Ticker.work',
      '--duration',
      '200ms',
      '--out',
      join(temporaryDirectory(), 'p'),
    ]
    const { code, stderr } = await jfluid('record', `${java.pid}`, ...asked)
    expect([code, stderr]).toEqual([STATUS.notNow, expect.stringMatching(/MiB of its metaspace are free/)])
  })
})
