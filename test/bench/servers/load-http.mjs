// HTTP load on a server, until SIGTERM: node load-http.mjs <plan.mjs> <port> <out.csv> open <requests a second>
//                                      node load-http.mjs <plan.mjs> <port> <out.csv> closed <clients>
//
// Open: requests start on a schedule, independent of the server, and a latency counts from the *scheduled* start, so all requests delayed
// by a stall show it. Closed: each client sends its next request when it has the answer.
//
// Each line has: scheduled time (epoch ms), latency (ms), status (0: failed, or not answered until the end), number of calls of the narrow
// root, and number of calls of the high root.

import { createWriteStream } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const TIMEOUT_MS = 60_000
/** Time after SIGTERM in which pending requests may be answered. */
const LAST_ANSWERS_MS = 10_000

const [planFile, port, outFile, kind, amount] = process.argv.slice(2)
const { default: planFor } = await import(pathToFileURL(planFile))
const plan = planFor(Number(port))
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const out = createWriteStream(outFile)
/** Requests that have no answer yet. */
const open = new Set()
let over = false
let number = 0

function call({ method, url, headers, body }) {
  return new Promise((resolve) => {
    const failed = (problem) => resolve({ status: 0, text: String(problem) })
    const sent = request(url, { method, headers, agent, timeout: TIMEOUT_MS }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (more) => {
        text += more
      })
      response.on('end', () => resolve({ status: response.statusCode, text }))
      response.on('error', failed)
    })
    sent.on('timeout', () => sent.destroy(new Error('timeout')))
    sent.on('error', failed)
    sent.end(body)
  })
}

async function timed(due) {
  const asked = plan.request(number++)
  const entry = { due, calls: asked.calls }
  open.add(entry)
  const { status, text } = await call(asked)
  if (!open.delete(entry)) return
  write(entry, status)
  if (status === 0 || status >= 400)
    console.error(`${new Date().toISOString()} ${status} ${text.slice(0, 200)}`)
}

function write({ due, calls }, status) {
  const latency = (performance.now() - due).toFixed(2)
  out.write(
    `${Math.round(performance.timeOrigin + due)},${latency},${status},${calls.narrow},${calls.high}\n`,
  )
}

async function openLoop(rate) {
  const begin = performance.now()
  for (let i = 0; !over; i++) {
    const due = begin + (i * 1000) / rate
    const early = due - performance.now()
    if (early > 0) await sleep(early)
    if (!over) void timed(due)
  }
}

async function closedLoop(clients) {
  const client = async () => {
    while (!over) await timed(performance.now())
  }
  await Promise.all(Array.from({ length: clients }, client))
}

process.on('SIGTERM', async () => {
  over = true
  const until = performance.now() + LAST_ANSWERS_MS
  while (open.size > 0 && performance.now() < until) await sleep(20)
  for (const entry of open) write(entry, 0)
  open.clear()
  out.end(() => process.exit(0))
})

await plan.prepare(call)
console.error('prepared')
await (kind === 'open' ? openLoop(Number(amount)) : closedLoop(Number(amount)))
