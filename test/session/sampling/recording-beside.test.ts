// The life of a flight recording beside a session: it is stopped in every case in which its start has succeeded.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { RecordingBeside } from '../../../src/session/sampling/recording-beside.ts'

const NAME = 'jfluid-1-2-abc'
const UNSTOPPED = `the flight recording ${NAME} was not stopped: the JVM may continue sampling for up to 5 minutes; stop it with: jcmd ${process.pid} JFR.stop name=${NAME}`

const untilAborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

class Recording {
  running: string | null = null
  readonly calls: string[] = []
  onStart: (signal?: AbortSignal) => Promise<void> = async () => {}
  onPoll: () => Promise<void> = async () => {}
  onStop: () => Promise<void> = async () => {}

  async start(signal?: AbortSignal): Promise<void> {
    this.calls.push('start')
    this.running = NAME
    await this.onStart(signal)
  }

  async poll(): Promise<void> {
    this.calls.push('poll')
    await this.onPoll()
  }

  async stop(lives: boolean): Promise<void> {
    this.calls.push(lives ? 'stop' : 'stop after the JVM has ended')
    await this.onStop()
    this.running = null
  }
}

function beside(recording: Recording, lives = true, endTimeoutMs?: number): RecordingBeside {
  return new RecordingBeside(recording, { pid: process.pid, lives: () => lives }, endTimeoutMs)
}

/** Waits until all pending promises have been handled. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a flight recording beside a session', () => {
  it('the recording is polled after its start, and stopped once', async () => {
    const recording = new Recording()
    const run = beside(recording)
    run.begin()
    run.begin()
    await settled()
    await run.poll()
    await run.end()
    await run.end()
    await run.poll()
    assert.deepEqual(recording.calls, ['start', 'poll', 'stop'])
    assert.deepEqual([run.problem, run.warnings], [null, []])
  })

  it('after an error of a poll, the recording is stopped at once and not polled again', async () => {
    const recording = new Recording()
    recording.onPoll = async () => {
      throw new Error('cannot open 1.jfr (EMFILE)')
    }
    const run = beside(recording)
    run.begin()
    await settled()
    await run.poll()
    await run.poll()
    await settled()
    assert.deepEqual(recording.calls, ['start', 'poll', 'stop'])
    await run.end()
    assert.deepEqual(recording.calls, ['start', 'poll', 'stop'])
    assert.deepEqual([run.problem, run.warnings], ['cannot open 1.jfr (EMFILE)', []])
  })

  it('a failed stop is repeated at the end, and a warning names the recording if it fails again', async () => {
    const recording = new Recording()
    const fail = async (): Promise<void> => {
      throw new Error('EMFILE')
    }
    recording.onPoll = recording.onStop = fail
    const run = beside(recording)
    run.begin()
    await settled()
    await run.poll()
    await settled()
    assert.deepEqual(run.warnings, []) // the stop is repeated at the end
    await run.end()
    assert.deepEqual(recording.calls, ['start', 'poll', 'stop', 'stop'])
    assert.deepEqual(run.warnings, [UNSTOPPED])
  })

  it('the end aborts a start that is still running', async () => {
    const recording = new Recording()
    recording.onStart = (signal) => untilAborted(signal).finally(() => recording.stop(true))
    const run = beside(recording)
    run.begin()
    await run.end()
    assert.deepEqual(recording.calls, ['start', 'stop'])
    assert.deepEqual([run.problem, run.warnings], [null, []])
  })

  it('a start that succeeds after the timeout of the end is stopped, and a warning names the recording until then', async () => {
    const recording = new Recording()
    let succeed = (): void => {}
    recording.onStart = () =>
      new Promise((resolve) => {
        succeed = resolve
      })
    const run = beside(recording, true, 20)
    run.begin()
    await run.end()
    assert.deepEqual(run.warnings, [UNSTOPPED])
    succeed()
    await settled()
    assert.deepEqual(recording.calls, ['start', 'stop'])
    assert.deepEqual(run.warnings, [])
  })

  it('a stop without an answer ends with the timeout and a warning', async () => {
    const recording = new Recording()
    recording.onStop = () => new Promise(() => {})
    const run = beside(recording, true, 20)
    run.begin()
    await settled()
    await run.end()
    assert.deepEqual(run.warnings, [UNSTOPPED])
  })

  it('the recording is stopped after a running poll has ended', async () => {
    const recording = new Recording()
    let polled = (): void => {}
    recording.onPoll = () =>
      new Promise((resolve) => {
        polled = resolve
      })
    const run = beside(recording)
    run.begin()
    await settled()
    const polling = run.poll()
    const ending = run.end()
    await settled()
    assert.deepEqual(recording.calls, ['start', 'poll'])
    polled()
    await Promise.all([polling, ending])
    assert.deepEqual(recording.calls, ['start', 'poll', 'stop'])
  })

  it('the recording does not start after the end', async () => {
    const recording = new Recording()
    const run = beside(recording)
    await run.end()
    run.begin()
    await settled()
    assert.deepEqual(recording.calls, [])
  })

  it('a JVM that has ended needs no explanation', async () => {
    const recording = new Recording()
    recording.onPoll = async () => {
      throw new Error('gone')
    }
    const run = beside(recording, false)
    run.begin()
    await settled()
    await run.poll()
    await run.end()
    assert.deepEqual(recording.calls, ['start', 'poll', 'stop after the JVM has ended'])
    assert.deepEqual([run.problem, run.warnings], [null, []])
  })
})
