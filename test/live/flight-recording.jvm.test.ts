// jfluid's parser of flight recordings is compared with the JDK's parser on real files: same samples, threads and stacks.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { attachCommand } from '../../src/attach/command.ts'
import { startRecording, stopRecording } from '../../src/attach/flight-recorder.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { Chunk } from '../../src/jfr/chunk.ts'
import { FRAME_NUMBERS } from '../../src/jfr/constants.ts'
import { BadRecording } from '../../src/jfr/problem.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'

interface PrintedFrame {
  readonly method: {
    readonly type: { readonly name: string }
    readonly name: string
    readonly descriptor: string
  }
  readonly lineNumber: number
  readonly bytecodeIndex: number
}

interface PrintedEvent {
  readonly type: string
  readonly values: {
    readonly sampledThread?: { readonly javaName: string; readonly javaThreadId: number }
    readonly eventThread?: { readonly javaName: string; readonly javaThreadId: number }
    readonly stackTrace: { readonly truncated: boolean; readonly frames: readonly PrintedFrame[] }
  }
}

function printed({ type, values }: PrintedEvent): string {
  const thread = values.sampledThread ?? values.eventThread!
  const frames = values.stackTrace.frames.map(
    ({ method, lineNumber, bytecodeIndex }) =>
      `${method.type.name.replaceAll('/', '.')}.${method.name}${method.descriptor}:${lineNumber}@${bytecodeIndex}`,
  )
  const kind = { 'jdk.ExecutionSample': 'java', 'jdk.CPUTimeSample': 'cpu' }[type]
  return `${kind} ${thread.javaName}#${thread.javaThreadId} ${values.stackTrace.truncated} ${frames.join(' ')}`
}

const reader = (bytes: Buffer) => new Chunk((offset, length) => bytes.subarray(offset, offset + length))

/** Returns the samples that jfluid reads, in the format of `printed`. */
function samplesOf(chunk: Chunk): { samples: string[]; finished: boolean } {
  const samples: string[] = []
  const finished = chunk.poll({
    sample(kind, _ticks, threadKey, stackKey) {
      const { constants } = chunk
      const thread = constants.thread(threadKey)
      const stack = constants.stack(stackKey)
      const frames: string[] = []
      for (let i = 0; stack !== undefined && i < stack.frames.length; i += FRAME_NUMBERS) {
        const method = constants.method(stack.frames[i])
        const [line, bci] = stack.frames.slice(i + 1, i + 3)
        frames.push(`${method.class}.${method.method}${method.descriptor}:${line}@${bci}`)
      }
      samples.push(`${kind} ${thread?.name}#${thread?.id} ${stack?.truncated} ${frames.join(' ')}`)
    },
    lost() {},
  })
  return { samples, finished }
}

describe.each(newestOrAll)('a flight recording of JDK $version', (jdk) => {
  let file: string
  let bytes: Buffer

  beforeAll(async () => {
    const classes = await compileFixture(jdk, 'Sampled')
    const java = startJava(jdk, ['-cp', classes, 'fix.Sampled'])
    await java.line(/^ready/)
    const connection = await openAttachSocket(java.pid)
    const settings = ['jdk.ExecutionSample#enabled=true', 'jdk.ExecutionSample#period=10ms']
    if (jdk.version >= 25) settings.push('jdk.CPUTimeSample#enabled=true', 'jdk.CPUTimeSample#throttle=10ms')
    await startRecording(connection, {
      name: 'test',
      settings,
      durationSeconds: 60,
      keptSeconds: 60,
      keptMib: 32,
    })
    await sleep(1500) // time for samples; no event reports them
    file = join(temporaryDirectory('jfluid-jfr-'), 'r.jfr')
    await attachCommand(connection.socketPath, 'jcmd', [`JFR.dump name=test filename=${file}`])
    await stopRecording(connection, 'test')
    java.child.stdin?.end() // on a normal exit the JVM deletes the files of its flight recorder
    await java.exit
    bytes = readFileSync(file)
  })

  it('jfluid reads the same samples from a flight recording as jfr print, frame by frame', () => {
    const tool = join(jdk.home, 'bin/jfr')
    const events = 'jdk.ExecutionSample,jdk.CPUTimeSample'
    const text = execFileSync(tool, ['print', '--json', '--stack-depth', '2048', '--events', events, file], {
      encoding: 'utf8',
      maxBuffer: 1 << 30,
    })
    const expected = (JSON.parse(text) as { recording: { events: PrintedEvent[] } }).recording.events.map(
      printed,
    )
    const { samples, finished } = samplesOf(reader(bytes))
    expect(finished).toBe(true)
    expect(samples.length).toBeGreaterThan(10)
    expect(samples.length).toBe(expected.length)
    samples.sort()
    expected.sort()
    const different = samples.findIndex((it, i) => it !== expected[i])
    expect(samples[different]).toBe(expected[different])
    // At least one stack is deeper than the recorder's default limit of 64 frames.
    expect(samples.some((it) => / true fix\.Sampled\.spin/.test(it))).toBe(true)
  })

  it('a flight recording can be read in parts while the JVM writes it, and no part is read twice', () => {
    const whole = samplesOf(reader(bytes)).samples
    // Simulates a file that the JVM is still writing: the size in the header is out of date until the state byte says that the chunk is
    // finished.
    const growing = Buffer.from(bytes)
    const chunk = reader(growing)
    const seen: string[] = []
    growing.writeUInt8(255, 64)
    expect(samplesOf(chunk)).toEqual({ samples: [], finished: false })
    growing.writeUInt8(1, 64)
    // A dumped file has all its constants in one checkpoint at its end, so earlier events cannot be resolved before the checkpoint is read.
    growing.writeBigUInt64BE(68n, 8)
    growing.writeBigUInt64BE(0n, 24)
    expect(samplesOf(chunk)).toEqual({ samples: [], finished: false })
    bytes.copy(growing)
    seen.push(...samplesOf(chunk).samples)
    expect(samplesOf(chunk)).toEqual({ samples: [], finished: true })
    expect(seen).toEqual(whole)
  })

  it('a damaged flight recording causes a specific error within a short time', () => {
    let seed = 20261122
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
      return seed % below
    }
    let refused = 0
    const metadata = Number(bytes.readBigUInt64BE(24))
    for (let i = 0; i < 40; i++) {
      const mutant = Buffer.from(bytes.subarray(0, i % 4 === 0 ? random(bytes.length) : bytes.length))
      const from = i % 2 === 0 ? 0 : metadata
      for (let flips = random(8); flips >= 0 && mutant.length > from; flips--) {
        mutant[from + random(mutant.length - from)] = random(256)
      }
      try {
        samplesOf(reader(mutant))
      } catch (error) {
        expect(error, `mutant ${i}`).toBeInstanceOf(BadRecording)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(10)
  })
})
