// npm run bench:servers [-- options]: stock servers under load, and the effect of jfluid on them.
//
//   --server boot|keycloak|kafka   may be repeated; default: all
//   --jdk 17|25|<home>             may be repeated; default: the oldest and the newest JDK found
//   --root narrow|high|<method>    may be repeated; default: narrow and high
//   --runs 3                       lives of the server for each cell
//   --seconds 60                   duration of each recording; bare runs are as long as a whole session
//   --warm 60                      seconds of load before the first measurement
//   --bare 3                       runs without jfluid in each life
//   --bare-only                    only bare runs
//   --sessions 1                   sessions in each life. Each has another root (ten in turn), and the first has the root of the cell
//   --options '…'                  passed to jfluid
//   --picked                       the root is selected in the picker of `jfluid attach`, from samples; default: `jfluid record --root`
//                                  The results lack messages outside the screen, and the recording begins with the first call
//   --agent idle|opentelemetry     the servers start with `-javaagent:` of jfluid's idle agent, or of OpenTelemetry, which traces requests
//   --busy                         boot verifies a bcrypt password in each request, and 8 clients send requests as fast as it answers
//   --control <directory>          no jfluid: an agent redefines, with their own bytes, the classes that the sessions in this directory (an
//                                  earlier --out, scheme adaptive) redefined, at the same times
//   --out <directory>              for logs, loads, profiles and results.json; default: a new temporary directory
//
// Needs mvn (for the set-up only) and script(1). Nothing is asserted: the table shows missed goals. Exits with 1 if a run is missing.
// Nothing else should run on the machine. The last row of a cell shows the processor use of other programs.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { cli, findJdks, machine, project } from '../support.mjs'
import {
  bareFigures,
  parseLoad,
  parseSent,
  profileFacts,
  requestsSent,
  requestsTo,
  sessionFigures,
} from './analysis.mjs'
import { readRedefinitions } from './control.mjs'
import { live } from './life.mjs'
import { SERVERS } from './servers.mjs'
import { installOpenTelemetry } from './setup.mjs'
import { bareTable, cellTable, summaryTable } from './table.mjs'

function fail(problem) {
  console.error(`bench:servers: ${problem}`)
  process.exit(64)
}

const OPTIONS = {
  server: { type: 'string', multiple: true, default: Object.keys(SERVERS) },
  jdk: { type: 'string', multiple: true },
  root: { type: 'string', multiple: true, default: ['narrow', 'high'] },
  runs: { type: 'string', default: '3' },
  seconds: { type: 'string', default: '60' },
  warm: { type: 'string', default: '60' },
  bare: { type: 'string', default: '3' },
  'bare-only': { type: 'boolean', default: false },
  sessions: { type: 'string', default: '1' },
  options: { type: 'string', default: '' },
  agent: { type: 'string' },
  busy: { type: 'boolean', default: false },
  picked: { type: 'boolean', default: false },
  control: { type: 'string' },
  out: { type: 'string' },
}

const flags = parsed(process.argv.slice(2))

function parsed(args) {
  // `--options '--scheme a'`: parseArgs requires a `=` before a value with a dash.
  const at = args.indexOf('--options')
  if (at >= 0 && at + 1 < args.length) args.splice(at, 2, `--options=${args[at + 1]}`)
  try {
    return parseArgs({ args, options: OPTIONS }).values
  } catch (problem) {
    return fail(problem.message)
  }
}

function count(name, least = 1) {
  const value = Number(flags[name])
  if (!Number.isInteger(value) || value < least) fail(`--${name} takes a whole number from ${least} on`)
  return value
}

for (const name of flags.server) {
  if (SERVERS[name] === undefined) fail(`no server '${name}': take ${Object.keys(SERVERS).join(', ')}`)
}
if (flags.agent !== undefined && !['idle', 'opentelemetry'].includes(flags.agent))
  fail('--agent takes idle or opentelemetry')
if (flags.control !== undefined && flags.sessions !== '1')
  fail('--control is for one session in each life only')
if (flags.busy && flags.server.join() !== 'boot') fail('--busy is for --server boot only')

const found = findJdks()
const jdks = (flags.jdk ?? [found.at(0), found.at(-1)].map((jdk) => jdk?.home)).map(
  (wanted) =>
    found.find(({ home, version }) => home === wanted || String(version) === wanted) ??
    fail(`no JDK '${wanted}': there are ${found.map((jdk) => `${jdk.version} in ${jdk.home}`).join(', ')}`),
)
const plan = {
  warmSeconds: count('warm', 0),
  bareRuns: count('bare'),
  seconds: count('seconds'),
  options: flags.options.split(' ').filter(Boolean),
  busy: flags.busy,
  picked: flags.picked,
  jvmOptions: await agentOptions(),
}
const [runs, sessions] = [count('runs'), count('sessions')]
const out = flags.out ?? mkdtempSync(join(tmpdir(), 'jfluid-servers-'))
mkdirSync(out, { recursive: true })

/** Returns the options for the agent. A tracing agent sends its data nowhere. */
async function agentOptions() {
  if (flags.agent === 'idle') return [`-javaagent:${join(project, 'dist/agent/jfluid-agent.jar')}`]
  if (flags.agent !== 'opentelemetry') return []
  const exporters = ['traces', 'metrics', 'logs'].map((it) => `-Dotel.${it}.exporter=none`)
  return [`-javaagent:${await installOpenTelemetry(jdks[0])}`, ...exporters]
}

const say = (text) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)

/** Returns the requested root, then the others of the server's ten roots in turn. */
function rootsOf(server, root) {
  const asked = server.roots[root] ?? root
  const others = server.sequence.filter((it) => it !== asked).slice(0, 9)
  const turn = [asked, ...others]
  return Array.from({ length: sessions }, (_, index) => turn[index % turn.length])
}

async function oneRun(name, server, jdk, root, directory) {
  const roots = flags['bare-only'] ? [] : rootsOf(server, root)
  const control =
    flags.control === undefined
      ? null
      : await readRedefinitions(join(flags.control, basename(directory)), cli)
  const life = await live(server, { ...plan, jdk, roots, directory, control }, say)
  const requests = parseLoad(readFileSync(life.latencies, 'utf8'))
  const sent = existsSync(life.requests) ? parseSent(readFileSync(life.requests, 'utf8')) : null
  const bare = bareFigures(requests, life.bare, life.processes)
  const counted = (method, window) => {
    const which = Object.keys(server.roots).find((it) => server.roots[it] === method)
    if (which === undefined) return null
    return sent === null ? requestsTo(which, requests, window) : requestsSent(which, sent, window)
  }
  const seen = []
  for (const session of life.sessions) {
    const profile = await readProfile(session.file, server.own)
    seen.push({
      ...{ root: session.root, figures: sessionFigures(requests, session, bare, life), profile },
      counted: profile === null ? null : counted(session.root, profile.recorded),
      marks: session,
    })
  }
  const { alive, startMs, loadErrors, loadAverage, lastWords } = life
  if (!alive) say(`${server.title} has ended: ${lastWords.join(' / ')}`)
  writeFileSync(join(directory, 'life.json'), JSON.stringify(life))
  return { server: name, bare, sessions: seen, alive, startMs, loadErrors, loadAverage, lastWords }
}

/** Returns null if no readable profile was written. */
async function readProfile(file, own) {
  if (!existsSync(file)) return null
  const json = `${file}.json`
  try {
    await promisify(execFile)(process.execPath, [cli, 'export', file, '--format', 'json', '--out', json])
    return profileFacts(JSON.parse(readFileSync(json, 'utf8')), own)
  } catch (problem) {
    say(`${file}: ${problem.message}`)
    return null
  } finally {
    rmSync(json, { force: true })
  }
}

const about = machine(jdks)
for (const line of about) console.log(line)
const titles = flags.server.map((name) => SERVERS[name].title).join('; ')
console.log(
  `${titles}; ${plan.warmSeconds} s warm load, ${plan.bareRuns} bare runs, ${plan.seconds} s recordings\n`,
)
const cells = []
for (const name of flags.server) {
  const server = SERVERS[name]
  for (const jdk of jdks) {
    for (const root of flags['bare-only'] ? ['narrow'] : flags.root) {
      const setting = {
        version: jdk.version,
        idleAgent: flags.agent === 'idle',
        busy: flags.busy,
        control: flags.control !== undefined,
      }
      const extra = [
        plan.options.join(' '),
        flags.agent === 'idle' ? 'idle agent' : '',
        flags.busy ? 'busy' : '',
        flags.picked ? 'picked' : '',
        flags.control === undefined ? '' : 'control',
      ]
      const what = [`${server.title}, JDK ${jdk.version}`, ...(flags['bare-only'] ? [] : [root])]
      const title = [...what, ...extra.filter(Boolean)].join(', ')
      const cell = { title, setting, runs: [] }
      cells.push(cell)
      for (let run = 1; run <= runs; run++) {
        say(`${title}, run ${run} of ${runs}`)
        const directory = join(out, `${name}-${jdk.version}-${root}-${run}`)
        try {
          cell.runs.push(await oneRun(name, server, jdk, root, directory))
        } catch (problem) {
          // One failure does not stop the other cells, which take hours.
          console.log(`${title}, run ${run} is missing: ${problem.message}\n`)
          process.exitCode = 1
        }
        writeFileSync(join(out, 'results.json'), JSON.stringify({ about, flags, plan, cells }, null, 1))
      }
      if (cell.runs.length === 0) continue
      const bares = cell.runs.map(({ bare }) => bare)
      console.log(`${flags['bare-only'] ? bareTable(title, bares) : cellTable(title, cell.runs, setting)}\n`)
    }
  }
}
if (cells.length > 1 && !flags['bare-only']) console.log(`${summaryTable(cells)}\n`)
console.log(`all figures: ${join(out, 'results.json')}`)
