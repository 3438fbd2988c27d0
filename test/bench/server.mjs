// Revelation in a server: a Spring Boot application with JPA on H2 (apps/petstore), with 15,000 classes and more, under HTTP load during
// the attach. Measures the cost of finding the subgraph of a root, and the effect on the users of the service.
//
// The libraries come from Maven Central. mvn downloads them into its own repository.

import { execFile } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Child, cli, compile, median, sleep, temporaryDirectory, verdict } from './support.mjs'

const APP = join(import.meta.dirname, 'apps/petstore')
const ROOTS = ['petstore.PetStore$Shop.order', 'petstore.PetStore$Web.pets']
const WARMUP_S = 30
/** Requests per second. The rate does not depend on the duration of a request. */
const RATE = 50
const RECORD_S = 10

export async function server(jdks) {
  const libraries = await libraryPath()
  for (const jdk of jdks) await onJdk(jdk, libraries)
}

async function libraryPath() {
  const file = join(temporaryDirectory(), 'class-path')
  await promisify(execFile)('mvn', [
    ...['-q', '-B', '-f', join(APP, 'pom.xml')],
    ...['dependency:build-classpath', `-Dmdep.outputFile=${file}`],
  ])
  return readFileSync(file, 'utf8').trim()
}

async function classesOn(jdk, libraries) {
  const classes = await compile(
    jdk,
    [join(APP, 'PetStore.java')],
    ['-parameters', '--release', '17', '-cp', libraries],
  )
  cpSync(join(APP, 'templates'), join(classes, 'templates'), { recursive: true })
  cpSync(join(APP, 'application.properties'), join(classes, 'application.properties'))
  return `${classes}:${libraries}`
}

async function onJdk(jdk, libraries) {
  const classPath = await classesOn(jdk, libraries)
  for (const root of ROOTS)
    await session(jdk, classPath, root, ['--scheme', 'b', '--yes'], (figures) => print(jdk, root, figures))
}

/** Records one JVM once, after a warm-up and under load. */
async function session(jdk, classPath, root, options, show) {
  // Each session has its own JVM, since an earlier session has changed the compiled code.
  const java = new Child(jdk.java, ['-cp', classPath, 'petstore.PetStore'])
  try {
    const port = Number((await java.line(/^port \d+/)).split(' ')[1])
    await java.line(/^ready/)
    const users = new Users(port)
    await users.run(WARMUP_S, Number.POSITIVE_INFINITY)
    const before = await users.run(5, RATE)
    const loaded = await users.loadedClasses()
    const over = new AbortController()
    const during = users.run(Number.POSITIVE_INFINITY, RATE, over.signal)
    const recorded = await record(java.pid, root, options).finally(() => over.abort())
    const times = await during
    const after = await users.run(5, RATE)
    show({ ...recorded, loaded, failed: users.failed, times: { before, during: times, after } })
  } finally {
    await java.end()
  }
}

/** Two clients, which together send `rate` requests per second. */
class Users {
  #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  #count = 0
  failed = 0

  constructor(port) {
    this.port = port
  }

  /** @returns duration of each request in ms, from the time at which it was due */
  async run(seconds, rate, until = undefined) {
    const times = []
    const end = performance.now() + seconds * 1000
    const pending = new Set()
    for (let due = performance.now(); performance.now() < end && !until?.aborted; due += 1000 / rate) {
      if (rate === Number.POSITIVE_INFINITY) {
        await Promise.all([this.#request(), this.#request()])
        continue
      }
      await sleep(Math.max(0, due - performance.now()))
      const sent = this.#request().then(() => {
        times.push(performance.now() - due)
        pending.delete(sent)
      })
      pending.add(sent)
    }
    await Promise.all(pending)
    return times
  }

  #request() {
    const i = this.#count++
    if (i % 3 === 0) return this.#send('GET', `/pets?kind=${['cat', 'dog', 'fish'][i % 3]}&page=${i % 4}`)
    if (i % 3 === 1) {
      const lines = [
        { pet: 1 + (i % 500), quantity: 1 + (i % 3) },
        { pet: 1 + ((i * 7) % 500), quantity: 2 },
      ]
      return this.#send('POST', '/orders', JSON.stringify({ customer: `c${i % 50}`, lines }))
    }
    return this.#send('GET', `/orders/${1 + (i % 10)}`)
  }

  async loadedClasses() {
    const text = await this.#send('GET', '/actuator/metrics/jvm.classes.loaded')
    return JSON.parse(text).measurements[0].value
  }

  #send(method, path, body) {
    return new Promise((resolve) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const sent = request({ port: this.port, method, path, headers, agent: this.#agent }, (reply) => {
        let text = ''
        reply.setEncoding('utf8').on('data', (more) => {
          text += more
        })
        reply.on('end', () => resolve(text))
      })
      // Usually the server was about to close the connection. The figures show it if there are more failures.
      sent.on('error', () => {
        this.failed++
        resolve('')
      })
      sent.end(body)
    })
  }
}

async function record(pid, root, options) {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const begun = performance.now()
  let seconds
  const onError = (said) => {
    if (/^recording$/m.test(said)) seconds ??= (performance.now() - begun) / 1000
  }
  const command = [cli, 'record', String(pid), '--root', root, ...options]
  const client = new Child(process.execPath, [...command, '--duration', `${RECORD_S}s`, '--out', out], {
    onError,
  })
  const code = await client.exit
  // The client has received no answer within its timeout of ten seconds. In this case the agent detaches by itself.
  const detachMs = Number(
    /detached from \d+ in (\d+) ms/.exec(client.stderr)?.[1] ?? Number.POSITIVE_INFINITY,
  )
  if (code !== 0) throw new Error(`jfluid record ended with ${code}\n${client.stderr}`)
  const allSeconds = (performance.now() - begun) / 1000
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [cli, 'export', out, '--format', 'json'], {
    maxBuffer: 1 << 30,
  })
  return { profile: JSON.parse(stdout), seconds, allSeconds, detachMs }
}

function print(jdk, title, { loaded, profile, seconds, allSeconds, detachMs, failed, times }) {
  const { instrumentation: it, events, warmupMs, truncated } = profile
  const ratio = it.instrumentedMethods / it.calledMethods
  console.log(`\n${jdk.name}: ${title}, ${loaded} classes loaded${truncated ? ', TRUNCATED' : ''}`)
  console.log(
    `  until it records                     ${seconds.toFixed(1)} s   ${verdict(seconds <= 3, '<= 3 s')}; the whole command, ${RECORD_S} s of recording taken out, ${(allSeconds - RECORD_S).toFixed(1)} s`,
  )
  console.log(`  settled after                        ${(warmupMs / 1000).toFixed(1)} s`)
  console.log(
    `  instrumented / called                ${it.instrumentedMethods} / ${it.calledMethods} = ${ratio.toFixed(1)}   ${verdict(ratio <= 2, '<= 2')}`,
  )
  console.log(
    `  redefinitions                        ${it.redefinitions}, ${it.redefinedClasses} classes   ${verdict(it.redefinitions <= 40, '<= 40')}`,
  )
  console.log(
    `  hot swapping                         ${Math.round(it.hotSwapMs)} ms   ${verdict(it.hotSwapMs <= 1500, '<= 1500 ms')}`,
  )
  console.log(
    `  longest pause of a redefinition      ${it.longestPauseMs.toFixed(0)} ms   ${it.longestPauseMs === 0 ? 'not told' : verdict(it.longestPauseMs <= 200, '<= 200 ms')}`,
  )
  console.log(`  analysis                             ${Math.round(it.analysisMs)} ms`)
  console.log(
    `  root calls, events                   ${profile.merged[0]?.calls ?? 0}, ${(events.count / 1e6).toFixed(1)} M`,
  )
  console.log(
    `  detach                               ${detachMs} ms   ${verdict(detachMs <= 1000, '<= 1000 ms')}`,
  )
  if (failed > 0) console.log(`  requests that failed                 ${failed}`)
  console.log(
    `  threads waited                       ${Math.round(events.waitMs)} ms in all, ${it.gaps} gaps`,
  )
  for (const [when, ms] of Object.entries(times)) {
    const sorted = [...ms].sort((a, b) => a - b)
    const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))].toFixed(1)
    console.log(
      `  a request, ${when.padEnd(6)}                   median ${median(ms).toFixed(1)}, 99 % ${at(0.99)}, longest ${at(1)} ms (n=${ms.length})`,
    )
  }
}
