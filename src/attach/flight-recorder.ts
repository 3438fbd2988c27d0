// The flight recorder of a JVM, by its diagnostic commands (`jcmd <pid> JFR.…`, carried by the attach operation `jcmd`).
//
// No file of ours is needed: a recording that goes to disk grows, flushed once a second, in the repository that the JVM makes for
// itself, and `JFR.configure` says where. What a recording is to be copied to at its end is /dev/null: a JVM that
// is told a duration and no file writes one into the program's working directory.

import { EX_CONFIG, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** There is a flight recorder in this JVM only if its runtime has the module, and nobody has switched it off. */
export class NoFlightRecorder extends JfluidError {
  static sample = () => new NoFlightRecorder(4711, 'Module jdk.jfr not found')
  readonly exitCode = EX_CONFIG
  readonly hint =
    'Run the program with the module jdk.jfr and without -XX:-FlightRecorder, or leave --sampler out.'
  constructor(pid: number, reason: string) {
    super(`JVM ${pid} has no flight recorder: ${reason}`)
  }
}

/** It has one, which did not begin to record, in its own words. */
export class RecordingRefused extends JfluidError {
  static sample = () => new RecordingRefused(4711, 'Could not start recording')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = "Look at the program's own output for more."
  constructor(pid: number, reason: string) {
    super(`the flight recorder of JVM ${pid} did not start: ${reason}`)
  }
}

export interface RecorderSetup {
  /** Directory of the growing recordings, in the target's file system; null while it has never recorded. */
  readonly repository: string | null
  /** Frames of a stack that it keeps. */
  readonly stackDepth: number
}

/** A first recording begins in half a second, on a busy machine in several. */
const START_TIMEOUT_MS = 30_000
/** All else. */
const SHORT_MS = 10_000

/** @throws NoFlightRecorder */
export async function recorderSetup(connection: AttachConnection): Promise<RecorderSetup> {
  const text = await ask(connection, 'JFR.configure')
  const repository = /^Repository path: (.+)$/m.exec(text)?.[1]?.trim()
  const depth = /^Stack depth: (\d+)/m.exec(text)?.[1]
  if (repository === undefined || depth === undefined) {
    throw new NoFlightRecorder(connection.pid, firstLine(text))
  }
  return { repository: repository === 'N/A' ? null : repository, stackDepth: Number(depth) }
}

/** Has an effect only before its first recording, and lasts as long as the JVM. */
export async function setStackDepth(connection: AttachConnection, frames: number): Promise<void> {
  await ask(connection, `JFR.configure stackdepth=${frames}`)
}

/** Names of the recordings that run. */
export async function recordings(connection: AttachConnection): Promise<string[]> {
  return runningIn(await ask(connection, 'JFR.check'))
}

/** `Recording 1: name=mine duration=5m maxsize=32.0MB maxage=1m (running)`; others are stopped, or yet to begin. */
export function runningIn(text: string): string[] {
  const line = /^Recording \d+: name=(.*?)(?: (?:duration|maxsize|maxage)=\S+)* \(running\)$/gm
  return [...text.matchAll(line)].map((match) => match[1]!)
}

export interface NewRecording {
  /** No blanks. */
  readonly name: string
  /** `jdk.ExecutionSample#period=10ms` … */
  readonly settings: readonly string[]
  /** It ends by itself after so long. */
  readonly durationSeconds: number
  /** What it has flushed is kept for so long, */
  readonly keptSeconds: number
  /** and so much of it at most, but for the file that grows. */
  readonly keptMib: number
}

/** @throws RecordingRefused */
export async function startRecording(connection: AttachConnection, recording: NewRecording): Promise<void> {
  const { name, settings, durationSeconds, keptSeconds, keptMib } = recording
  const text = await ask(
    connection,
    [
      `JFR.start name=${name} settings=none filename=/dev/null`,
      `duration=${durationSeconds}s maxage=${keptSeconds}s maxsize=${keptMib}m`,
      ...settings.map((setting) => `+${setting}`), // not in the settings, of which there are none: to be added
    ].join(' '),
    START_TIMEOUT_MS,
  )
  if (!/^Started recording /m.test(text)) throw new RecordingRefused(connection.pid, firstLine(text))
}

/** The same as options of a JVM that is to be started, which says nothing of it then. JDK 17 and newer. */
export function recordingOptions(
  { name, settings, durationSeconds, keptSeconds, keptMib }: NewRecording,
  { repository, stackDepth }: { readonly repository: string; readonly stackDepth: number },
): string[] {
  const start = [
    `name=${name},settings=none,filename=/dev/null`,
    `duration=${durationSeconds}s,maxage=${keptSeconds}s,maxsize=${keptMib}m`,
    ...settings.map((setting) => `+${setting}`),
  ]
  return [
    '-Xlog:jfr+startup=error',
    `-XX:FlightRecorderOptions:repository=${repository},stackdepth=${stackDepth}`,
    `-XX:StartFlightRecording:${start.join(',')}`,
  ]
}

/** @returns whether there was one to stop */
export async function stopRecording(connection: AttachConnection, name: string): Promise<boolean> {
  return /^Stopped recording /m.test(await ask(connection, `JFR.stop name=${name}`))
}

/** @throws NoFlightRecorder, if its runtime does not know what we ask */
async function ask(connection: AttachConnection, command: string, timeoutMs = SHORT_MS): Promise<string> {
  const { code, text } = await attachCommand(connection, 'jcmd', [command], { timeoutMs })
  if (code === 0) return text
  throw new NoFlightRecorder(connection.pid, firstLine(text))
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] || 'it said nothing'
}
