// npm run desk [-- options]: a Spring Boot service whose endpoints have problems for some values of their parameters, under load.
//
//   --jdk 17|25     default: the newest JDK found
//   --rate 40       requests a second, on a schedule that does not depend on the service
//   --clean         the same endpoints and load without the problems
//   --port 8080     default: a free port
//   --agent opentelemetry   starts the service with the OpenTelemetry agent
//   --jvm '-XX:+UseZGC …'   further options of the service's JVM
//   --jar <file>     the service's jar; default: built once
//
// Prints the process id of the service and its port. At SIGINT or SIGTERM, the service and the load end (processes.mjs).
//
// The problems, for the author of a test (the reader of a profile has to find them): reports of the tenants globex and initech make a slow
// query; the stock of the warehouse rotterdam is locked by a recount; the rate of JPY comes late from another service; a checkout with the
// coupon SPRING throws.

import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { findJdks } from '../support.mjs'
import plan from './plan-desk.mjs'
import { freePorts, Running, temporaryDirectory, untilUp } from './processes.mjs'
import { installBoot, installOpenTelemetry } from './setup.mjs'

const LATE_MS = 180
/** Number of requests before the load, one after the other. */
const FIRST_REQUESTS = 120

// `--jvm '-Xint'`: parseArgs requires a `=` before a value with a dash.
const args = process.argv.slice(2)
const jvmAt = args.indexOf('--jvm')
if (jvmAt >= 0 && jvmAt + 1 < args.length) args.splice(jvmAt, 2, `--jvm=${args[jvmAt + 1]}`)
const { values: flags } = parseArgs({
  args,
  options: {
    jdk: { type: 'string' },
    rate: { type: 'string', default: '40' },
    clean: { type: 'boolean', default: false },
    port: { type: 'string' },
    agent: { type: 'string' },
    jvm: { type: 'string', default: '' },
    jar: { type: 'string' },
  },
})
const found = findJdks()
const jdk = flags.jdk === undefined ? found.at(-1) : found.find((it) => String(it.version) === flags.jdk)
if (jdk === undefined)
  throw new Error(`no JDK ${flags.jdk}; found: ${found.map((it) => it.version).join(', ')}`)

/** The other service. */
const rates = createServer(async (request, response) => {
  if (!flags.clean && request.url === '/rate/JPY') await sleep(LATE_MS)
  response.setHeader('content-type', 'application/json')
  response.end('1.0825')
})
await new Promise((resolve) => rates.listen(0, '127.0.0.1', resolve))

const directory = temporaryDirectory()
const port = flags.port ?? (await freePorts(1))[0]
const jar = flags.jar ?? (await installBoot(jdk))
const tracing =
  flags.agent === undefined
    ? []
    : [
        `-javaagent:${await installOpenTelemetry(jdk)}`,
        ...['traces', 'metrics', 'logs'].map((it) => `-Dotel.${it}.exporter=none`),
      ]
const service = new Running(
  [
    ...[
      jdk.java,
      '-Xmx512m',
      ...flags.jvm.split(' ').filter(Boolean),
      ...tracing,
      '-jar',
      jar,
      `--server.port=${port}`,
    ],
    ...['--spring.main.sources=desk.Desk', '--management.endpoint.health.probes.enabled=true'],
    ...[`--desk.clean=${flags.clean}`, `--desk.rates=http://127.0.0.1:${rates.address().port}`],
  ],
  { cwd: directory, log: join(directory, 'service.log') },
)
await untilUp(service, isUp, 'the service')
// Loads the classes of all endpoints.
const { request } = plan(port)
for (let i = 0; i < FIRST_REQUESTS; i++) {
  const { method, url, headers } = request(i)
  await (await fetch(url, { method, headers })).text()
}
const load = new Running(
  [
    ...[process.execPath, join(import.meta.dirname, 'load-http.mjs')],
    ...[join(import.meta.dirname, 'plan-desk.mjs'), String(port)],
    ...[join(directory, 'load.csv'), 'open', flags.rate],
  ],
  { log: join(directory, 'load.log') },
)
console.log(`process ${service.pid}, port ${port}, ${jdk.name}; files in ${directory}`)
const how = await service.ended
console.error(`the service ended with ${how}`)
await load.end()
process.exit(1)

async function isUp() {
  try {
    const { status } = await fetch(`http://127.0.0.1:${port}/actuator/health/readiness`, {
      signal: AbortSignal.timeout(2000),
    })
    return status < 400
  } catch {
    return false
  }
}
