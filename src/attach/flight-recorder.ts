// Controls a JVM's flight recorder by diagnostic commands (`jcmd <pid> JFR.…`, sent by the attach operation `jcmd`).
// jfluid creates no file. A recording to disk grows in the JVM's own repository directory; the JVM flushes it once a second.
// `JFR.configure` prints the path of the repository. jfluid sets /dev/null as the file name of the final copy: without a file name, a JVM
// writes the copy of a recording with a duration into the program's working directory.

import { EX_CONFIG, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { SINCE } from '../base/jdk-releases.ts'
import { attachCommand } from './command.ts'
import type { AttachConnection } from './handshake.ts'

/** The JVM has no flight recorder: its runtime lacks the module, or an option disabled it. */
export class NoFlightRecorder extends JfluidError {
  static sample = () => new NoFlightRecorder(4711, 'Module jdk.jfr not found')
  readonly exitCode = EX_CONFIG
  readonly hint =
    'Run the program with the module jdk.jfr and without -XX:-FlightRecorder, or leave --sampler out.'
  constructor(pid: number, reason: string) {
    super(`JVM ${pid} has no flight recorder: ${reason}`)
  }
}

/** The flight recorder did not start the recording. Carries the JVM's own message. */
export class RecordingRefused extends JfluidError {
  static sample = () => new RecordingRefused(4711, 'Could not start recording')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Look for the reason in the output of the program.'
  constructor(pid: number, reason: string) {
    super(`the flight recorder of JVM ${pid} did not start: ${reason}`)
  }
}

/** The flight recorder accepts no settings of events in a command. */
export class NoRecordingSettings extends JfluidError {
  static sample = () => new NoRecordingSettings(4711)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Leave --sampler out: jfluid then samples the JVM by thread dumps.'
  constructor(pid: number) {
    super(
      `jfluid cannot use the flight recorder of JVM ${pid}: it accepts settings of events only from JDK ${SINCE.RECORDING_SETTINGS} on`,
    )
  }
}

export interface RecorderSetup {
  /** Directory of the growing recordings, in the target's file system; null if the JVM has never recorded. */
  readonly repository: string | null
  /** Maximum number of frames that the recorder stores per stack. */
  readonly stackDepth: number
}

/** Timeout for the start of a recording. A first recording starts within half a second, on a busy machine within several seconds. */
const START_TIMEOUT_MS = 30_000
/** Timeout of all other commands. */
const COMMAND_TIMEOUT_MS = 10_000

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

/** Sets the maximum stack depth. Has an effect only before the JVM's first recording, and lasts until the JVM ends. */
export async function setStackDepth(connection: AttachConnection, frames: number): Promise<void> {
  await ask(connection, `JFR.configure stackdepth=${frames}`)
}

/** Returns the names of the running recordings. */
export async function recordings(connection: AttachConnection): Promise<string[]> {
  return runningIn(await ask(connection, 'JFR.check'))
}

/** Parses lines such as `Recording 1: name=mine duration=5m maxsize=32.0MB maxage=1m (running)`. Skips stopped and delayed recordings. */
export function runningIn(text: string): string[] {
  const line = /^Recording \d+: name=(.*?)(?: (?:duration|maxsize|maxage)=\S+)* \(running\)$/gm
  return [...text.matchAll(line)].map((match) => match[1]!)
}

export interface NewRecording {
  /** Name without blanks. */
  readonly name: string
  /** Settings such as `jdk.ExecutionSample#period=10ms`. */
  readonly settings: readonly string[]
  /** The recording ends by itself after this duration. */
  readonly durationSeconds: number
  /** Maximum age of flushed data. */
  readonly keptSeconds: number
  /** Maximum size of the flushed data, without the file that is still growing. */
  readonly keptMib: number
}

/** @throws RecordingRefused, NoRecordingSettings */
export async function startRecording(connection: AttachConnection, recording: NewRecording): Promise<void> {
  const { name, settings, durationSeconds, keptSeconds, keptMib } = recording
  const text = await ask(
    connection,
    [
      `JFR.start name=${name} settings=none filename=/dev/null`,
      `duration=${durationSeconds}s maxage=${keptSeconds}s maxsize=${keptMib}m`,
      ...settings.map((setting) => `+${setting}`), // "+" adds a setting that the base settings lack; the base is settings=none
    ].join(' '),
    START_TIMEOUT_MS,
  )
  if (!/^Started recording /m.test(text)) throw new RecordingRefused(connection.pid, firstLine(text))
}

/** Returns the JVM options that start the same recording. The JVM then prints no message about it. Requires JDK 17 or newer. */
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

/** @returns whether there was a recording to stop */
export async function stopRecording(connection: AttachConnection, name: string): Promise<boolean> {
  return /^Stopped recording /m.test(await ask(connection, `JFR.stop name=${name}`))
}

/** @throws NoFlightRecorder if the JVM does not know the command */
async function ask(
  connection: AttachConnection,
  command: string,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<string> {
  const { code, text } = await attachCommand(connection, 'jcmd', [command], { timeoutMs })
  if (code === 0) return text
  if (/Unknown argument '\+/.test(text)) throw new NoRecordingSettings(connection.pid)
  throw new NoFlightRecorder(connection.pid, firstLine(text))
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] || 'the JVM gave no reason'
}
