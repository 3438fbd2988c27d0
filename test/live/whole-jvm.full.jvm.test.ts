// Two flight recordings of one JVM: another recording starts after jfluid's, and another program stops jfluid's recording.

import { expect, it } from 'vitest'
import {
  recordings,
  startRecording as startAnother,
  stopRecording,
} from '../../src/attach/flight-recorder.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { readProfileJson, startRecording, stderrLine } from '../support/jfluid.ts'
import { BY_RECORDER, busyThread, KEPT, quit, samplesIn } from './whole-jvm-samples.ts'

forEachJdk((jdk) => {
  it('a flight recording of another tool is reported; if another program stops the recording of jfluid, the error states this cause', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled'])
    await java.line(/^ready/)
    const connection = await openAttachSocket(java.pid)
    const recording = startRecording(java.pid, ...BY_RECORDER)
    await stderrLine(recording.process, /^sampling/)
    const settings = ['jdk.ExecutionSample#enabled=true', 'jdk.ExecutionSample#period=100ms']
    await startAnother(connection, { name: 'later', settings, ...KEPT })
    const [ours = ''] = (await recordings(connection)).filter((it) => it.startsWith('jfluid-'))
    await stopRecording(connection, ours)
    const { code } = await recording.process.exit
    expect(recording.process.stderr()).toContain('another program has stopped the flight recording of jfluid')
    expect(code).toBe(STATUS.notNow)
    const profile = await readProfileJson(recording.file)
    expect(profile.warnings).toContainEqual(expect.stringContaining('has other recordings, too (later)'))
    expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(0)
    expect(await stopRecording(connection, 'later')).toBe(true)
    await quit(java)
  })
})
