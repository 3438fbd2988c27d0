// One life of a server: start, load, warm-up, bare runs, sessions of jfluid, end. Events are stored with their times, and analysis.mjs
// computes figures from them.

import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cli, loadAverage } from '../support.mjs'
import { buildAgent, controlCommand } from './control.mjs'
import { Picking } from './picked.mjs'
import { descendantRunning, Running, remove, temporaryDirectory, untilUp } from './processes.mjs'
import { prepareServer } from './servers.mjs'
import { TerminalLines } from './terminal-lines.mjs'
import { Watch } from './watch.mjs'

/** Difference between a session's window and its recording: attach, detach, and AFTER_S after it. Bare runs have the same length. */
const AROUND_S = 4
const AFTER_S = 2
/** Pause after each session, since a damaged server may fail late. */
const REST_S = 15
/** A client that does not end by itself is reported, and must not stop the bench. */
const CLIENT_LATE_S = 120
const COLUMNS = 200
const ROWS = 50

/**
 * @typedef {object} Plan
 * @property {object} jdk
 * @property {number} warmSeconds
 * @property {number} bareRuns
 * @property {number} seconds  duration of each recording
 * @property {readonly string[]} roots  one session for each root
 * @property {readonly string[]} options  passed on to jfluid
 * @property {boolean} picked  whether roots are selected in the picker of `jfluid attach`; otherwise `jfluid record` gets them
 * @property {readonly string[]} jvmOptions
 * @property {boolean} busy
 * @property {readonly import('./control.mjs').Redefinition[] | null} control  if not null, classes are redefined instead of each session
 * @property {string} directory  directory for all output
 *
 * @typedef {object} Window
 * @property {number} begin  epoch ms
 * @property {number} end
 *
 * @typedef {object} SessionMarks  times are epoch ms
 * @property {string} root
 * @property {number} begin  start of the command: Enter is pressed
 * @property {number | null} recording  first line of progress
 * @property {number | null} firstCall  first line of progress with an event, which is a root call; lines are printed twice a second
 * @property {number | null} ending  the client prints that the recording is over
 * @property {number} exit  end of the client's process
 * @property {number | string} code  exit code of the client, or a signal
 * @property {Window} window  from `begin` to 2 s after `exit`
 * @property {readonly string[]} says  other lines of the client
 * @property {string} file  path of the profile, if there is one
 * @property {import('./watch.mjs').Counters} before
 * @property {import('./watch.mjs').Counters} after
 *
 * @typedef {object} Life
 * @property {number} startMs  time until the server was up
 * @property {readonly Window[]} bare
 * @property {readonly SessionMarks[]} sessions
 * @property {boolean} alive  whether the server is alive at the end
 * @property {readonly string[]} loadErrors  errors of the load, at most 20
 * @property {readonly string[]} lastWords  last lines of the server's log
 * @property {number} loadAverage
 * @property {readonly import('./watch.mjs').Counters[]} counters
 * @property {readonly import('./watch.mjs').Processes[]} processes
 * @property {string} latencies  path of the load's latencies
 * @property {string} requests  path of the counters of Kafka's requests; other servers have none
 */

/** @returns {Promise<Life>} */
export async function live(server, plan, tell) {
  const { directory } = plan
  mkdirSync(directory, { recursive: true })
  const files = temporaryDirectory()
  const prepared = await prepareServer(server, { ...plan, directory: files })
  const begun = Date.now()
  const running = new Running(prepared.command, {
    ...{ cwd: prepared.cwd, env: prepared.env, log: join(directory, 'server.log') },
  })
  let load
  let watch
  try {
    await untilUp(running, prepared.isUp, server.title)
    const startMs = Date.now() - begun
    const jvm = descendantRunning(running.pid, 'java')
    running.jvm = jvm
    tell(`up after ${(startMs / 1000).toFixed(1)} s, JVM ${jvm}`)
    const [latencies, requests] = ['load.csv', 'requests.csv'].map((name) => join(directory, name))
    load = new Running(prepared.load(latencies, requests), { log: join(directory, 'load.log') })
    watch = new Watch(jvm, load.pid)
    await pause(plan.warmSeconds, { running, load }, directory)
    const bare = []
    for (let run = 0; run < plan.bareRuns; run++) {
      const begin = Date.now()
      await pause(plan.seconds + AROUND_S, { running, load }, directory)
      bare.push({ begin, end: Date.now() })
    }
    const sessions = []
    for (const root of plan.roots) {
      if (running.how !== null) break
      const run = plan.control === null ? session : control
      sessions.push(await run(root, { jvm, watch, plan, tag: `session-${sessions.length + 1}`, tell }))
      await sleep(REST_S * 1000)
    }
    const alive = running.how === null
    await load.end()
    return {
      ...{ startMs, bare, sessions, alive, loadAverage: loadAverage() },
      ...{ loadErrors: errorsIn(directory), lastWords: linesOf(join(directory, 'server.log')).slice(-3) },
      ...{ counters: watch.counters, processes: watch.processes, latencies, requests },
    }
  } finally {
    watch?.stop()
    await load?.end()
    await running.end()
    remove(files)
  }
}

/** Waits. Throws an error immediately if the server or its load ends. */
async function pause(seconds, { running, load }, directory) {
  const over = new AbortController()
  const ended = Promise.race([running.ended.then(() => 'the server'), load.ended.then(() => 'the load')])
  const who = await Promise.race([
    ended,
    sleep(seconds * 1000, null, { signal: over.signal }).catch(() => null),
  ])
  over.abort()
  if (who !== null) throw new Error(`${who} ended while nothing was attached: see the logs in ${directory}`)
}

/** Returns the error lines of the load itself, since Kafka's libraries print warnings to the same file. */
function errorsIn(directory) {
  return linesOf(join(directory, 'load.log'))
    .filter((line) => /^\d{4}-\d\d-\d\dT/.test(line))
    .slice(0, 20)
}

const linesOf = (file) => readFileSync(file, 'utf8').trimEnd().split('\n')

/** @returns {Promise<SessionMarks>} */
async function session(root, { jvm, watch, plan, tag, tell }) {
  const file = join(plan.directory, `${tag}.jfluid`)
  const words = plan.picked
    ? ['attach', String(jvm), '--out', file]
    : ['record', String(jvm), '--root', root, '--duration', `${plan.seconds}s`, '--out', file]
  const command = [process.execPath, cli, ...words, ...plan.options].map(quoted).join(' ')
  const terminal = createWriteStream(join(plan.directory, `${tag}.terminal`))
  const lines = new TerminalLines()
  const marks = { recording: null, firstCall: null, ending: null, says: [] }
  const take = (told) => note(marks, told, tell)
  const before = watch.now()
  let begin = Date.now()
  let over
  const picking = plan.picked
    ? new Picking(root, {
        ...{ columns: COLUMNS, rows: ROWS },
        press: (keys) => client.type(keys),
        reached(mark) {
          if (mark === 'begin') {
            begin = Date.now()
            return
          }
          marks.recording = marks.firstCall = Date.now()
          over = setTimeout(() => {
            marks.ending = Date.now()
            client.type('q')
          }, plan.seconds * 1000)
        },
      })
    : null
  // Uses a pseudo-terminal of the kernel, like a user's terminal. The client is a child of `script`.
  const client = new Running(
    ['script', '-qefc', `stty cols ${COLUMNS} rows ${ROWS}; exec ${command}`, '/dev/null'],
    {
      env: { TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' },
      typed: plan.picked,
      onOutput(text) {
        terminal.write(text)
        if (picking !== null) {
          picking.take(text)
          return
        }
        for (const told of lines.take(text)) take(told)
      },
    },
  )
  const finding = setInterval(() => {
    watch.client ??= descendantRunning(client.pid, basename(process.execPath))
  }, 50)
  const late = setTimeout(
    () => {
      const at = picking === null ? '' : `, waiting for ${picking.waitsFor}`
      tell(`the client has not ended after ${plan.seconds + CLIENT_LATE_S} s${at}: killed`)
      void client.end('SIGTERM')
    },
    (plan.seconds + CLIENT_LATE_S) * 1000,
  )
  const code = await client.ended
  const exit = Date.now()
  clearInterval(finding)
  clearTimeout(late)
  clearTimeout(over)
  watch.client = null
  for (const told of lines.end()) take(told)
  terminal.end()
  return await afterwards({ root, begin, ...marks, exit, code, file, before }, { watch, plan, tag })
}

/**
 * Redefines the classes of a session with their own bytes. The marks are those of a session: the recording begins after the first
 * redefinition, and the last one is the restoration.
 *
 * @returns {Promise<SessionMarks>}
 */
async function control(root, { jvm, watch, plan, tag, tell }) {
  const files = temporaryDirectory()
  try {
    const jar = await buildAgent(plan.jdk, files)
    const before = watch.now()
    const begin = Date.now()
    const marks = { recording: null, firstCall: null, ending: null, says: [] }
    let rest = ''
    const agent = new Running(controlCommand(plan.jdk, jar, jvm, plan.control, begin), {
      onOutput(text) {
        const lines = (rest + text).split('\n')
        rest = lines.pop()
        for (const line of lines) {
          if (line === 'redefined') marks.recording ??= Date.now()
          if (line === 'redefines') marks.ending = Date.now()
          marks.says.push(line)
          tell(`  ${line}`)
        }
      },
      log: join(plan.directory, `${tag}.log`),
    })
    const late = setTimeout(() => void agent.end('SIGTERM'), (plan.seconds + CLIENT_LATE_S) * 1000)
    const code = await agent.ended
    clearTimeout(late)
    const exit = Date.now()
    const file = join(plan.directory, `${tag}.jfluid`) // does not exist
    return await afterwards({ root, begin, ...marks, exit, code, file, before }, { watch, plan, tag })
  } finally {
    remove(files)
  }
}

async function afterwards(session, { watch, plan, tag }) {
  await sleep(AFTER_S * 1000)
  const window = { begin: session.begin, end: session.exit + AFTER_S * 1000 }
  const done = { ...session, window, after: watch.now() }
  writeFileSync(join(plan.directory, `${tag}.json`), JSON.stringify(done, null, 1))
  return done
}

function note(marks, told, tell) {
  const now = Date.now()
  if (told.what === 'progress') {
    marks.recording ??= now
    if (told.events > 0) marks.firstCall ??= now
    return
  }
  if (told.what === 'ending') marks.ending ??= now
  marks.says.push(told.line)
  tell(`  ${told.line}`)
}

const quoted = (word) => `'${word.replaceAll("'", `'\\''`)}'`
