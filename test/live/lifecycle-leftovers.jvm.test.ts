// The next session removes the files of clients that were killed before they contacted an agent.

import { existsSync, mkdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { AUTOSAVED, recordedSoFar, startRecording } from '../support/jfluid.ts'

it('a session removes remains of dead clients and keeps the files of living clients', async () => {
  const dead = startProcess(process.execPath, ['-e', ''])
  await dead.exit
  const cwd = temporaryDirectory()
  const classes = await compileFixture(newest, 'Ticker')
  const java = startJava(newest, ['-cp', classes, 'fix.Ticker', '1'], { cwd })
  await java.line(/ready/)

  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]
  const ofTheDead = `/dev/shm/jfluid-${namespace}-${dead.pid}-abcdef`
  const living = [
    `/dev/shm/jfluid-${namespace}-${process.pid}-abcdef`,
    `/dev/shm/jfluid-1${namespace}-${dead.pid}-abcdef`, // belongs to another pid namespace, so its owner may be alive
    `/dev/shm/jfluid-notes-${dead.pid}`,
  ]
  const launchFile = `/tmp/.jfluid_pid${dead.pid}`
  const trigger = join(cwd, `.attach_pid${java.pid}`)
  onTestFinished(() => {
    for (const path of [ofTheDead, ...living, launchFile]) rmSync(path, { recursive: true, force: true })
  })
  for (const dir of [ofTheDead, ...living]) {
    mkdirSync(dir)
    writeFileSync(join(dir, 'ring'), '')
  }
  writeFileSync(launchFile, `jar=agent.jar;dir=${ofTheDead};build=0`, { mode: 0o600 })

  const record = async () => {
    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work', ...AUTOSAVED)
    await recordedSoFar(recording)
    await recording.end()
  }
  await record()
  writeFileSync(trigger, '') // the JVM listens already and does not check for this file again
  await record()

  for (const path of [ofTheDead, launchFile, trigger]) expect(existsSync(path), path).toBe(false)
  for (const path of living) expect(existsSync(path), path).toBe(true)
})
