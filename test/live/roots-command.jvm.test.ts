// jfluid roots on a program with known loops and tasks.

import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { agentProperties } from '../../src/attach/command.ts'
import { recorderSetup, recordings } from '../../src/attach/flight-recorder.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { searchRoots } from '../../src/session/roots/root-search.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk, forNewestJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, startJfluid, stderrLine } from '../support/jfluid.ts'

interface Root {
  root: string
  share: number
  threads: string[]
  command: string
}
interface Told {
  sampler: string
  samples: number
  dumps: number
  stoppedNs: number
  roots: Root[]
  stays: Root[]
}

async function start(jdk: Jdk, name: 'Sampled' | 'Waiting' = 'Sampled', ...options: string[]) {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, name), `fix.${name}`])
  await java.line(/^ready/)
  return java
}

forEachJdk((jdk) => {
  it('jfluid roots names the method of waiting requests and starts no flight recorder', async () => {
    const java = await start(jdk, 'Waiting')
    const { code, stdout, stderr } = await jfluid('roots', `${java.pid}`, '--json')
    expect(code, stderr).toBe(0)
    const { sampler, samples, dumps, stoppedNs, roots, stays } = JSON.parse(stdout) as Told
    expect(sampler).toBe('stacks')
    expect(samples).toBeGreaterThan(dumps)
    expect(stoppedNs).toBeGreaterThan(0)
    expect(roots[0]!.root, stdout).toBe('fix.Waiting.request')
    // Samples do not contain threads that wait for work.
    const threads = [...roots, ...stays].flatMap((it) => it.threads)
    expect(threads.filter((it) => ['events', 'jobs', 'main'].includes(it))).toEqual([])
    const connection = await openAttachSocket(java.pid)
    expect((await recorderSetup(connection)).repository).toBeNull()
  })

  it('jfluid roots --sampler jfr finds the task in an endless loop and leaves no recording running', async () => {
    const java = await start(jdk)
    const jfr = ['--sampler', 'jfr', '--duration', '2s', '--json']
    const { code, stdout, stderr } = await jfluid('roots', `${java.pid}`, ...jfr)
    expect(code, stderr).toBe(0)
    const dropped = `a JVM of JDK ${jdk.version} discards all its compiled code when its flight recorder starts`
    expect(stderr.includes(dropped)).toBe(jdk.version < 23)
    const { sampler, samples, roots, stays } = JSON.parse(stdout) as Told
    expect(sampler).toBe('jfr')
    expect(samples).toBeGreaterThan(20)
    const names = roots.map((it) => it.root)
    // Three quarters of the samples are in heavy(), and one quarter is below 100 nested calls of down().
    expect(names).toEqual(
      expect.arrayContaining(['fix.Sampled.heavy', 'fix.Sampled.light', 'fix.Sampled.down']),
    )
    expect(roots.find((it) => it.root === 'fix.Sampled.heavy')).toMatchObject({
      threads: ['busy'],
      command: `jfluid attach ${java.pid} --root fix.Sampled.heavy`,
    })
    expect(roots.find((it) => it.root === 'fix.Sampled.heavy')!.share).toBeGreaterThan(0.5)
    // `serve` uses all the time of its thread. Whether a sample shows its return depends on chance.
    expect([...names, ...stays.map((it) => it.root)]).toContain('fix.Sampled.serve')
    expect(names).not.toContain('fix.Sampled.lambda$main$0')
    expect(names.filter((it) => it.startsWith('java.'))).toEqual([])
    const connection = await openAttachSocket(java.pid)
    expect(await recordings(connection)).toEqual([])
    expect([...(await agentProperties(connection)).keys()].filter((it) => it.includes('jfluid'))).toEqual([])
  })
})

forNewestJdk((jdk) => {
  it('jfluid roots works without flight recorder and prints the cost of its thread dumps', async () => {
    const java = await start(jdk, 'Sampled', '-XX:-FlightRecorder')
    const { code, stdout, stderr } = await jfluid('roots', `${java.pid}`, '--duration', '1s')
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(
      /^sampled by wall-clock time, without idle threads; \d+ thread dumps stopped the JVM for [\d.]+ ms each$/m,
    )
    expect(stdout).toContain('fix.Sampled.')
  })

  it('Ctrl-C before the first sample ends jfluid roots, which has done nothing in the JVM', async () => {
    const java = await start(jdk)
    const phases: string[] = []
    const found = await searchRoots(java.pid, {
      ...{ durationMs: 60_000, withNames: true, stop: Promise.resolve() },
      onPhase: (phase) => phases.push(phase),
    })
    expect(found).toBeNull()
    expect(phases).toEqual([`attaching to ${java.pid}`, `leaving ${java.pid}`])
    const connection = await openAttachSocket(java.pid)
    expect((await recorderSetup(connection)).repository).toBeNull()

    const interrupted = startJfluid('roots', `${java.pid}`, '--duration', '60s')
    await stderrLine(interrupted, /^attaching/)
    interrupted.child.kill('SIGINT')
    expect((await interrupted.exit).code).toBe(130)
    expect(interrupted.stdout()).toBe('')
    expect(interrupted.stderr()).toContain(`interrupted before sampling began; JVM ${java.pid} is unchanged`)
    expect(await recordings(connection)).toEqual([])
  })

  it('Ctrl-C ends jfluid roots while another client waits for the attach socket', async () => {
    const java = await start(jdk)
    const theirs = `/tmp/.attach_pid${java.pid}`
    writeFileSync(theirs, '')
    onTestFinished(() => rmSync(theirs, { force: true }))
    utimesSync(theirs, Date.now() / 1000 + 60, Date.now() / 1000 + 60) // keeps the file from looking old
    const interrupted = startJfluid('roots', `${java.pid}`, '--duration', '60s')
    await stderrLine(interrupted, /^attaching/)
    interrupted.child.kill('SIGINT')
    expect((await interrupted.exit).code).toBe(130)
    expect(interrupted.stderr()).toContain(`interrupted before sampling began; JVM ${java.pid} is unchanged`)
    expect(existsSync(`/tmp/.java_pid${java.pid}`)).toBe(false)
  })
})
