// The log that JFLUID_DEBUG requests: the file `jfluid-debug-<pid>.log`, one line per entry.
//
//     milliseconds since the log began   topic     text
//           1023.482                     redefine  35 classes, 80 bodies, 1 calls: 25.785 ms, stopped for 11.901 ms
//
// Callers must not log secrets. As an additional protection, `redacted` hides text that looks like a secret. Each line is written
// immediately, so that no line is lost on SIGKILL. The recording thread writes to the same file through the same descriptor.

import { constants, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { maxOf } from './arrays.ts'
import { debug, TOPICS, type Topic } from './debug.ts'
import { EX_CANTCREAT, JfluidError, UsageError } from './errors.ts'

/** Maximum size of the log. If the limit is reached, the last line of the log reports this. */
export const MAX_BYTES = 256 << 20
const MAX_CHARACTERS = 2048
const TOPIC_WIDTH = maxOf(Object.keys(TOPICS).map((it) => it.length))
/** Flags to create the log. With O_EXCL, an existing file or a symbolic link is an error. */
const FLAGS = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_APPEND

export class UnknownDebugTopic extends UsageError {
  static sample = () => new UnknownDebugTopic('wires')
  readonly hint =
    `Set JFLUID_DEBUG to all, or to topics separated by commas: ${Object.keys(TOPICS).join(', ')}.`
  constructor(topic: string) {
    super(`JFLUID_DEBUG has no topic '${topic}'`)
  }
}

export class NoDebugLog extends JfluidError {
  static sample = () => [
    new NoDebugLog('/srv/jfluid-debug-4712.log', 'EACCES'),
    new NoDebugLog('/srv/jfluid-debug-4712.log', 'EEXIST'),
  ]
  readonly exitCode = EX_CANTCREAT
  readonly hint: string
  constructor(path: string, code: string) {
    super(`the debug log ${path} cannot be created (${code})`)
    this.hint =
      code === 'EEXIST'
        ? 'Move the file away, or run jfluid in another directory: an earlier process with the same id created it.'
        : 'Run jfluid in a directory in which you may create files, or set JFLUID_DEBUG_DIR to one.'
  }
}

/** Data that another thread needs to write to the log. */
export interface DebugLogShare {
  readonly topics: readonly Topic[]
  readonly descriptor: number
  /** Start time of the log by `process.hrtime`, which all threads share. */
  readonly begunNs: bigint
  /** Shared memory: number of bytes written, and error number of the first failed write. */
  readonly state: Int32Array
}

const BYTES = 0
const ERROR = 1

let share: DebugLogShare | undefined
let write: (topic: string, text: string) => void = () => {}

/** Returns the data that a new thread needs to write to the log; undefined if there is no log. */
export function debugLogShare(): DebugLogShare | undefined {
  return share
}

/** Writes a line without a topic, if there is a log. Used for the start and end of a command. */
export function noteInDebugLog(text: string): void {
  write('jfluid', text)
}

/** Returns why lines are missing in the log; null if no lines are missing. */
export function debugLogProblem(): string | null {
  const error = share === undefined ? 0 : Atomics.load(share.state, ERROR)
  return error === 0 ? null : `it could not be written (${getSystemErrorName(error)})`
}

/**
 * Parses the topics in JFLUID_DEBUG.
 *
 * @returns an empty list for an empty text
 * @throws UnknownDebugTopic
 */
export function topicsOf(text: string): Topic[] {
  const names = text
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '')
  const all = Object.keys(TOPICS) as Topic[]
  const unknown = names.find((name) => name !== 'all' && !Object.hasOwn(TOPICS, name))
  if (unknown !== undefined) throw new UnknownDebugTopic(unknown)
  return names.includes('all') ? all : all.filter((topic) => names.includes(topic))
}

/**
 * Opens the log if JFLUID_DEBUG requests it. Its folder is JFLUID_DEBUG_DIR, or else the current folder. A second call does nothing.
 *
 * @returns the path of the log; null if no log is requested or the log is already open
 * @throws UnknownDebugTopic, NoDebugLog
 */
export function beginDebugLog(env: NodeJS.ProcessEnv): string | null {
  const topics = topicsOf(env.JFLUID_DEBUG ?? '')
  if (topics.length === 0 || share !== undefined) return null
  const path = join(env.JFLUID_DEBUG_DIR || '.', `jfluid-debug-${process.pid}.log`)
  let descriptor: number
  try {
    descriptor = openSync(path, FLAGS, 0o600)
  } catch (error) {
    throw new NoDebugLog(path, (error as NodeJS.ErrnoException).code ?? String(error))
  }
  const state = new Int32Array(new SharedArrayBuffer(8))
  share = { topics, descriptor, begunNs: process.hrtime.bigint(), state }
  joinDebugLog(share)
  return path
}

/** Connects the debug topics of this thread to a log. */
export function joinDebugLog({ topics, descriptor, begunNs, state }: DebugLogShare): void {
  write = (topic, text) => {
    if (Atomics.load(state, ERROR) !== 0 || Atomics.load(state, BYTES) > MAX_BYTES) return
    const ms = Number(process.hrtime.bigint() - begunNs) / 1e6
    let line = lineOf(ms, topic, text)
    const bytes = Buffer.byteLength(line)
    const before = Atomics.add(state, BYTES, bytes)
    if (before > MAX_BYTES) return // another thread has just reached the limit
    if (before + bytes > MAX_BYTES)
      line = lineOf(ms, 'jfluid', `the log ends here, at ${MAX_BYTES >> 20} MiB`)
    try {
      writeFileSync(descriptor, line)
    } catch (error) {
      // The session continues after a failed write. `debugLogProblem` reports the reason at the end of the session.
      Atomics.compareExchange(state, ERROR, 0, (error as NodeJS.ErrnoException).errno ?? -1)
    }
  }
  for (const topic of topics) debug[topic] = (text) => write(topic, text)
}

/** Formats any text as one line, with apparent secrets hidden. */
export function lineOf(ms: number, topic: string, text: string): string {
  const clean = redacted(bounded(text)).replace(UNSHOWN, escaped)
  const cut = clean.length > MAX_CHARACTERS ? `${clean.slice(0, MAX_CHARACTERS)}…` : clean
  return `${ms.toFixed(3).padStart(12)}  ${topic.padEnd(TOPIC_WIDTH)}  ${cut}\n`
}

/** Shortens a long text before the patterns scan it. Cuts between words, since the patterns might not recognise a part of a secret. */
function bounded(text: string): string {
  if (text.length <= 4 * MAX_CHARACTERS) return text
  return `${text.slice(0, text.lastIndexOf(' ', 4 * MAX_CHARACTERS) + 1)}…`
}

/** Matches control characters, and characters that change the text direction. */
const UNSHOWN = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const HIDDEN = '[hidden]'

/** Matches session tokens and session names, which have 32 hexadecimal digits or more. */
const TOKEN = /\b[0-9a-f]{32,}\b/gi
const USER_OF_URL = /(?<=:\/\/)[^/?#\s@]+@/g
const QUERY_OF_URL = /(?<=:\/\/[^?\s]*\?)[^\s#]+/g
const AUTHORIZATION = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/g
/** Matches `db.password=…`, `"api_key": "…"`. */
const NAMED =
  /((?:passw(?:or)?d|passphrase|secret|token|credential|authorization|(?:api|access|private|proxy)[-_.]?key)[\w.-]{0,40}["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;]+)/gi

/** Hides text that looks like a secret. */
export function redacted(text: string): string {
  return text
    .replace(USER_OF_URL, `${HIDDEN}@`)
    .replace(QUERY_OF_URL, HIDDEN)
    .replace(AUTHORIZATION, `$1 ${HIDDEN}`)
    .replace(NAMED, `$1${HIDDEN}`)
    .replace(TOKEN, HIDDEN)
}
