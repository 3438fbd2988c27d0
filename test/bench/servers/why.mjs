// npm run bench:why [-- options]: answers of `jfluid why` on stock servers under load, and the worst requests beside the thread dumps.
//
//   --server boot|keycloak|kafka   may be repeated; default: all
//   --jdk 17|25                    may be repeated; default: the oldest and the newest JDK found
//   --runs 4                       answers for each server, and as many bare windows before the first answer
//   --warm 60                      seconds of load before the first measurement
//
// Prints the answers, the longest thread dump, and the worst request of each window. Nothing else should run on the machine.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { cli, findJdks, machine } from '../support.mjs'
import { latenciesIn, parseLoad, quantile, worstIn } from './analysis.mjs'
import { descendantRunning, Running, remove, temporaryDirectory, untilUp } from './processes.mjs'
import { prepareServer, SERVERS } from './servers.mjs'

/** About as long as `jfluid why` with its default duration. */
const BARE_WINDOW_MS = 6_000
const BETWEEN_ANSWERS_MS = 2_000

const { values: flags } = parseArgs({
  options: {
    server: { type: 'string', multiple: true, default: Object.keys(SERVERS) },
    jdk: { type: 'string', multiple: true },
    runs: { type: 'string', default: '4' },
    warm: { type: 'string', default: '60' },
  },
})
const found = findJdks()
const jdks = flags.jdk
  ? found.filter((it) => flags.jdk.includes(String(it.version)))
  : [found[0], found.at(-1)]

/** Returns start and end of a piece of work, in ms since 1970. */
async function windowOf(work) {
  const begin = Date.now()
  await work()
  return { begin, end: Date.now() }
}

/** Prints every second answer as text. The others are JSON, which has the longest dump. */
async function ask(jvm, run) {
  const json = run % 2 === 1
  const args = [cli, 'why', String(jvm), ...(json ? ['--json'] : [])]
  const { code = 0, stdout, stderr } = await promisify(execFile)(process.execPath, args).catch((it) => it)
  if (code !== 0) console.log(`exit code ${code}: ${stderr}`)
  else if (!json) console.log(stdout.slice(0, stdout.indexOf('\n\n')))
  else {
    const { worstStopMs, dumps, cause } = JSON.parse(stdout)
    console.log(`longest dump ${worstStopMs.toFixed(1)} ms of ${dumps}; cause ${JSON.stringify(cause)}`)
  }
}

async function measure(server, jdk) {
  console.log(`\n== ${server.title}, JDK ${jdk.version}`)
  const directory = temporaryDirectory()
  const prepared = await prepareServer(server, { jdk, jvmOptions: [], busy: false, directory })
  const log = (name) => join(directory, name)
  const { cwd, env } = prepared
  const running = new Running(prepared.command, { cwd, env, log: log('server.log') })
  let load
  try {
    await untilUp(running, prepared.isUp, server.title)
    const jvm = descendantRunning(running.pid, 'java')
    load = new Running(prepared.load(log('load.csv'), log('requests.csv')), { log: log('load.log') })
    await sleep(Number(flags.warm) * 1000)
    const windows = []
    for (let run = 0; run < Number(flags.runs); run++)
      windows.push({ what: 'bare', ...(await windowOf(() => sleep(BARE_WINDOW_MS))) })
    for (let run = 0; run < Number(flags.runs); run++) {
      windows.push({ what: 'why', ...(await windowOf(() => ask(jvm, run))) })
      await sleep(BETWEEN_ANSWERS_MS)
    }
    await load.end()
    const requests = parseLoad(readFileSync(log('load.csv'), 'utf8'))
    for (const { what, ...window } of windows) {
      const latencies = latenciesIn(requests, window)
      const median = quantile(latencies, 0.5).toFixed(1)
      console.log(
        `${what}: ${latencies.length} requests, p50 ${median} ms, worst ${worstIn(requests, window).toFixed(1)} ms`,
      )
    }
  } finally {
    await load?.end()
    await running.end()
    remove(directory)
  }
}

console.log(machine(jdks).join('\n'))
for (const name of flags.server) for (const jdk of jdks) await measure(SERVERS[name], jdk)
