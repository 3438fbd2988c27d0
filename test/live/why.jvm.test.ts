// jfluid why on programs with known loops, tasks and waits.

import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { agentProperties } from '../../src/attach/command.ts'
import { recorderSetup, recordings } from '../../src/attach/flight-recorder.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { searchRoots } from '../../src/session/roots/root-search.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forNewestJdk, forOldestJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, startJfluid, stderrLine } from '../support/jfluid.ts'

interface Root {
  root: string
  share: number
  threads: string[]
  command: string
}
interface Told {
  command: string
  cause: string
  samples: number
  allSamples: number
  dumps: number
  stoppedMs: number
  worstStopMs: number
  root: string
  roots: Root[]
  stays: Root[]
}

async function start(jdk: Jdk, name: 'Sampled' | 'Waiting' = 'Sampled', ...options: string[]) {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, name), `fix.${name}`])
  await java.line(/^ready/)
  return java
}

forOldestJdk((jdk) => {
  it('jfluid why names the method of waiting requests as the root, and starts no flight recorder', async () => {
    const java = await start(jdk, 'Waiting')
    const { code, stdout, stderr } = await jfluid('why', `${java.pid}`, '--json')
    expect(code, stderr).toBe(0)
    const { command, dumps, allSamples, stoppedMs, worstStopMs, root, roots, stays } = JSON.parse(
      stdout,
    ) as Told
    expect(command).toBe('why')
    expect(allSamples).toBeGreaterThan(dumps)
    expect(stoppedMs).toBeGreaterThan(0)
    expect(worstStopMs).toBeLessThanOrEqual(stoppedMs)
    expect([root, roots[0]!.root], stdout).toEqual(['fix.Waiting.request', 'fix.Waiting.request'])
    // Samples do not contain threads that wait for work.
    const threads = [...roots, ...stays].flatMap((it) => it.threads)
    expect(threads.filter((it) => ['events', 'jobs', 'main'].includes(it))).toEqual([])
    const connection = await openAttachSocket(java.pid)
    expect((await recorderSetup(connection)).repository).toBeNull()
    expect([...(await agentProperties(connection)).keys()].filter((it) => it.includes('jfluid'))).toEqual([])
  })

  it('samples of the flight recorder show the task that runs in an endless loop, and no flight recording is left in the JVM', async () => {
    const java = await start(jdk)
    const costs: string[] = []
    const found = await searchRoots(java.pid, {
      ...{ durationMs: 2_000, sampler: 'jfr' },
      onCost: (text) => costs.push(text),
    })
    const dropped = `a JVM of JDK ${jdk.version} discards all its compiled code when its flight recorder starts`
    expect(costs.some((it) => it.includes(dropped))).toBe(jdk.version < 23)
    const { roots, stays, samples } = found!.candidates
    expect(samples).toBeGreaterThan(20)
    const names = roots.map((it) => it.root)
    // Three quarters of the samples are in heavy(), and one quarter is below 100 nested calls of down().
    expect(names).toEqual(
      expect.arrayContaining(['fix.Sampled.heavy', 'fix.Sampled.light', 'fix.Sampled.down']),
    )
    expect(roots.find((it) => it.root === 'fix.Sampled.heavy')).toMatchObject({ threads: ['busy'] })
    expect(roots.find((it) => it.root === 'fix.Sampled.heavy')!.share).toBeGreaterThan(0.5)
    // `serve` uses all the time of its thread. Whether a sample shows its return depends on chance.
    expect([...names, ...stays.map((it) => it.root)]).toContain('fix.Sampled.serve')
    expect(names).not.toContain('fix.Sampled.lambda$main$0')
    expect(names.filter((it) => it.startsWith('java.'))).toEqual([])
    expect(await recordings(await openAttachSocket(java.pid))).toEqual([])
  })
})

forNewestJdk((jdk) => {
  it('jfluid why prints what requests wait for, the cost of its thread dumps, and the next command to run', async () => {
    const java = await start(jdk, 'Sampled', '-XX:-FlightRecorder')
    const { code, stdout, stderr } = await jfluid('why', `${java.pid}`)
    expect(code, stderr).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(
      /^\d+ {2}fix\.Sampled \(JDK .*\): [\d,]+ samples in [\d.]+ s; \d+ thread dumps stopped the JVM for [\d.]+ ms each, at most [\d.]+ ms$/,
    )
    expect(lines[1]).toMatch(/^(?:requests|working threads) \w/)
    // On a busy machine, the program waits for a processor. The samples in its methods are those of a computing thread in both cases.
    expect(lines[2]).toMatch(/^time of .*: (?:.*, )?(?:CPU|waiting for a processor) \d+ %/)
    expect(stdout).toMatch(/^1\. \d+ % {2}CPU {2}Sampled\.\w+/m)
    expect(stdout).toMatch(/^next: jfluid attach \d+ --root fix\.Sampled\.\w+$/m)
    expect(stdout).toMatch(/^ +[\d.]+ +\d+ +\d+ +\d+ {2}fix\.Sampled\.\w+ {2}\(busy\)$/m)
  })

  it('a stop before the first sample ends the search for roots without an effect on the JVM', async () => {
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
  })

  /** Makes clients wait at the attach: another client seems to use the attach socket. */
  const attachesElsewhere = (pid: number): void => {
    const theirs = `/tmp/.attach_pid${pid}`
    writeFileSync(theirs, '')
    onTestFinished(() => rmSync(theirs, { force: true }))
    utimesSync(theirs, Date.now() / 1000 + 60, Date.now() / 1000 + 60) // keeps the file from looking old
  }

  it('Ctrl-C before the first sample ends jfluid attach without a root and without a terminal with 130', async () => {
    const java = await start(jdk)
    attachesElsewhere(java.pid)
    const interrupted = startJfluid('attach', `${java.pid}`)
    await stderrLine(interrupted, /^attaching/)
    interrupted.child.kill('SIGINT')
    expect((await interrupted.exit).code, interrupted.stderr()).toBe(130)
    expect(interrupted.stdout()).toBe('')
    expect(interrupted.stderr()).toContain(`interrupted before sampling began; JVM ${java.pid} is unchanged`)
    expect(interrupted.stderr()).not.toContain('--root')
  })

  it('SIGTERM ends jfluid why with 143, and the hint names no option that jfluid why does not have', async () => {
    const java = await start(jdk)
    const ended = startJfluid('why', `${java.pid}`, '--duration', '60s')
    await stderrLine(ended, /^sampling/)
    ended.child.kill('SIGTERM')
    expect((await ended.exit).code, ended.stderr()).toBe(143)
    expect(ended.stderr()).toContain('SIGTERM ended the sampling')
    expect(ended.stderr()).not.toContain('--out')
  })

  it('Ctrl-C ends jfluid why while another client waits for the attach socket', async () => {
    const java = await start(jdk)
    attachesElsewhere(java.pid)
    const interrupted = startJfluid('why', `${java.pid}`, '--duration', '60s')
    await stderrLine(interrupted, /^attaching/)
    interrupted.child.kill('SIGINT')
    expect((await interrupted.exit).code).toBe(130)
    expect(interrupted.stdout()).toBe('')
    expect(interrupted.stderr()).toContain(`interrupted before sampling began; JVM ${java.pid} is unchanged`)
    expect(existsSync(`/tmp/.java_pid${java.pid}`)).toBe(false)
  })
})
