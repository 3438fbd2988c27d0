// npm run soak [-- options]: a day of `jfluid record --repeat`, in 96 minutes: 144 sessions of 30 s, one every 40 s, with a stock Spring
// Boot service under constant load. The profiles are pushed to a server that counts them. Each minute, the figures of the service and of
// the client are taken. At the end, memory, files and threads must be as at the start; see soak-figures.mjs for the limits.
//
//   --jdk 17|25       default: the newest JDK found
//   --sessions 144
//   --repeat 40s --duration 30s
//   --root <method>   default: the high root of the service
//   --rate 20         requests a second
//
// The client gets --yes, so that no session is skipped if other programs use the machine. Exit code 1 if something grows, a session fails or
// a profile is lost.

import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { cli, findJdks, machine } from '../support.mjs'
import { Running, temporaryDirectory, untilUp } from './processes.mjs'
import { prepareServer, SERVERS } from './servers.mjs'
import { flatness, flatTable, heapMibOf, liveOf, metaspaceMibOf } from './soak-figures.mjs'

const LOOK_MS = 60_000
const WARM_UP_MS = 60_000
/** Sessions before the first comparison. */
const FIRST_SESSIONS = 3
/** Sessions may take longer than their interval on a busy machine. */
const LATE = 1.5

const { values: flags } = parseArgs({
  options: {
    jdk: { type: 'string' },
    sessions: { type: 'string', default: '144' },
    repeat: { type: 'string', default: '40s' },
    duration: { type: 'string', default: '30s' },
    root: { type: 'string', default: SERVERS.boot.roots.high },
    rate: { type: 'string', default: String(SERVERS.boot.rate) },
  },
})
const found = findJdks()
const jdk = flags.jdk === undefined ? found.at(-1) : found.find((it) => String(it.version) === flags.jdk)
if (jdk === undefined)
  throw new Error(`no JDK ${flags.jdk}; found: ${found.map((it) => it.version).join(', ')}`)
const sessions = Number(flags.sessions)

/** Counts the profiles that arrive. */
const arrived = { profiles: 0, bytes: 0, names: new Set() }
const store = createServer((request, response) => {
  request.on('data', (more) => {
    arrived.bytes += more.length
  })
  request.on('end', () => {
    arrived.profiles++
    arrived.names.add(new URL(request.url, 'http://store').searchParams.get('name'))
    response.end()
  })
})
await new Promise((resolve) => store.listen(0, '127.0.0.1', resolve))

const directory = temporaryDirectory()
const prepared = await prepareServer(SERVERS.boot, {
  ...{ jdk, jvmOptions: [], busy: false },
  directory: join(directory, 'server'),
})
const { command, cwd, env, isUp } = prepared
const server = new Running(command, { cwd, env, log: join(directory, 'server.log') })
await untilUp(server, isUp, 'the service')
const csv = join(directory, 'load.csv')
const loadCommand = [...prepared.load(csv, join(directory, 'requests'))]
loadCommand[loadCommand.length - 1] = flags.rate
const loadLog = join(directory, 'load.log')
const load = new Running(loadCommand, { log: loadLog })
console.log(machine([jdk]).join('\n'))
console.log(`service ${server.pid}, ${flags.rate} requests a second; files in ${directory}`)
await sleep(WARM_UP_MS)

const pid = server.pid
const lives = [await live()]
const away = join(directory, 'client')
mkdirSync(away)
const clientLog = join(directory, 'client.log')
const clientStart = Date.now()
const client = new Running(
  [
    ...[process.execPath, cli, 'record', String(pid), '--root', flags.root, '--yes'],
    ...['--repeat', flags.repeat, '--duration', flags.duration],
    ...['--push', `http://127.0.0.1:${store.address().port}`, '--label', 'soak=repeat'],
  ],
  { cwd: away, log: clientLog },
)
const looks = []
const intervalMs = Number(/^(\d+)s$/.exec(flags.repeat)?.[1] ?? 60) * 1000
const until = Date.now() + sessions * intervalMs * LATE + WARM_UP_MS
let nextLook = Date.now() + LOOK_MS
while (arrived.profiles < sessions && client.how === null && server.how === null && Date.now() < until) {
  await sleep(1000)
  const isFirst = lives.length === 1 && arrived.profiles >= FIRST_SESSIONS
  const isMiddle = lives.length === 2 && arrived.profiles >= sessions / 2
  if (isFirst || isMiddle) lives.push(await live())
  if (Date.now() < nextLook) continue
  nextLook += LOOK_MS
  looks.push(await look())
  const { minute, ...figures } = looks.at(-1)
  const texts = Object.entries(figures).map(([name, value]) => `${name} ${Math.round(value * 10) / 10}`)
  console.log(`${minute} min: ${arrived.profiles} profiles, ${texts.join(', ')}`)
}
await client.end('SIGINT', 60_000)
looks.push(await look(looks.at(-1)))
lives.push(await live())
await load.end()
const latencies = readFileSync(csv, 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(',').map(Number))
// The first requests find an empty data base.
const failed = latencies.filter(
  ([due, , status]) => due > clientStart && (status === 0 || status >= 400),
).length
const sorted = latencies.map(([, ms]) => ms).sort((a, b) => a - b)
const clientLines = readFileSync(clientLog, 'utf8').trim().split('\n')
const recorded = clientLines.filter((it) => /^\S+ \S+ {2}session \d+: /.test(it)).length
const left = [
  ...readdirSync(away),
  ...['/tmp', '/dev/shm'].flatMap((it) =>
    readdirSync(it).filter((name) => name.startsWith(`jfluid-${pid}-`)),
  ),
  ...threadNames(pid).filter((name) => name.startsWith('jfluid-')),
  ...openFiles(pid).filter((it) => /jfluid-\d/.test(it)),
]
await server.end()

const { rows, problems } = flatness(looks, lives)
const expect = (isSo, text) => {
  if (!isSo) problems.push(text)
}
expect(client.how === 0, `the client ended with ${client.how}`)
expect(arrived.profiles >= sessions, `${arrived.profiles} profiles arrived, ${sessions} were expected`)
expect(
  arrived.profiles === recorded,
  `${recorded} sessions were recorded, ${arrived.profiles} profiles arrived`,
)
expect(failed === 0, `${failed} of ${latencies.length} requests failed`)
expect(left.length === 0, `left behind: ${left.join(', ')}`)

console.log(`\n${flatTable(rows)}\n`)
console.log(`metaspace after a collection, MiB: ${lives.map((it) => it.metaspaceMib.toFixed(1)).join(', ')}`)
console.log(
  `metaspace without a collection, at most: ${Math.max(...looks.map((it) => it.metaspaceMib)).toFixed(1)} MiB`,
)
console.log(
  `live objects of jfluid: ${lives.map((it) => Object.values(it.ours).reduce((sum, count) => sum + count, 0)).join(', ')}`,
)
console.log(`profiles: ${arrived.profiles}, ${arrived.bytes} bytes, under ${arrived.names.size} names:`)
for (const name of arrived.names) console.log(`  ${name}`)
console.log(
  readFileSync(loadLog, 'utf8')
    .split('\n')
    .filter((it) => / (?:0|[45]\d\d) /.test(it))
    .slice(0, 5)
    .join('\n'),
)
console.log(
  `requests: ${latencies.length}, ${failed} failed; p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, worst ${quantile(1)} ms`,
)
console.log(clientLines.filter((it) => !/^\S+ \S+ {2}session \d+: /.test(it)).join('\n'))
console.log(
  clientLines
    .filter((it) => /^\S+ \S+ {2}session \d+: /.test(it))
    .slice(-3)
    .join('\n'),
)
console.log(problems.length === 0 ? '\nflat' : `\nNOT flat:\n  ${problems.join('\n  ')}`)
store.close()
process.exit(problems.length === 0 ? 0 : 1)

function quantile(part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
}

async function jcmd(...words) {
  const { stdout } = await promisify(execFile)(join(jdk.home, 'bin/jcmd'), [String(pid), ...words], {
    maxBuffer: 64 << 20,
  })
  return stdout
}

/** Live objects and metaspace after full collections. The second collection frees what waited for a finalizer. */
async function live() {
  await jcmd('GC.class_histogram')
  const objects = liveOf(await jcmd('GC.class_histogram'))
  return { ...objects, metaspaceMib: metaspaceMibOf(await jcmd('VM.metaspace', 'basic', 'scale=KB')) }
}

/** @param last  look whose client figures are used after the end of the client */
async function look(last) {
  const ofClient =
    client.how === null
      ? {
          clientRssMib: rssMib(client.pid),
          clientFiles: openFiles(client.pid).length,
          clientThreads: readdirSync(`/proc/${client.pid}/task`).length,
        }
      : {
          clientRssMib: last?.clientRssMib,
          clientFiles: last?.clientFiles,
          clientThreads: last?.clientThreads,
        }
  return {
    minute: looks.length + 1,
    heapMib: heapMibOf(await jcmd('GC.heap_info')),
    metaspaceMib: metaspaceMibOf(await jcmd('VM.metaspace', 'basic', 'scale=KB')),
    files: withoutConnections(openFiles(pid)).length,
    threads: threadNames(pid).filter((name) => !name.startsWith('http-nio-')).length,
    ...ofClient,
  }
}

function rssMib(process) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${process}/status`, 'utf8'))?.[1]) / 1024
}

function openFiles(process) {
  return readdirSync(`/proc/${process}/fd`).map((it) => {
    try {
      return readlinkSync(`/proc/${process}/fd/${it}`)
    } catch {
      return '' // closed after it was listed
    }
  })
}

function threadNames(process) {
  return readdirSync(`/proc/${process}/task`).map((it) => {
    try {
      return readFileSync(`/proc/${process}/task/${it}/comm`, 'utf8').trim()
    } catch {
      return '' // ended after it was listed
    }
  })
}

/** Returns the files without the connections of the load. Sockets of attach connections and of the agent stay in the list. */
function withoutConnections(files) {
  const local = new Set(
    [...readFileSync('/proc/net/unix', 'utf8').matchAll(/^\S+: \S+ \S+ \S+ \S+ \S+ (\d+)/gm)].map(
      ([, it]) => it,
    ),
  )
  return files.filter((it) => !it.startsWith('socket:') || local.has(/\d+/.exec(it)?.[0]))
}
