// The HTTP load with a server in this test, which answers when the test permits it.

import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startProcess, temporaryDirectory } from '../../support/java-process.ts'
import { parseLoad } from './analysis.mjs'

const program = fileURLToPath(new URL('load-http.mjs', import.meta.url))
const directory = temporaryDirectory()
const plan = join(directory, 'plan.mjs')
writeFileSync(
  plan,
  `export default (port) => ({
    prepare: async () => {},
    request: (i) => ({ method: 'GET', url: 'http://127.0.0.1:' + port + '/', calls: { narrow: i % 2, high: 2 } }),
  })`,
)

/** Requests that have no answer yet. */
let waiting: ServerResponse[] = []
let isStalled = false
let answered = 0
const server = createServer((_, response) => {
  waiting.push(response)
  if (!isStalled) answer()
})

function answer(): void {
  isStalled = false
  answered += waiting.length
  for (const response of waiting.splice(0)) response.end('ok')
}

async function loaded(kind: string, amount: string, meanwhile: () => Promise<void>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const csv = join(directory, `${kind}.csv`)
  const load = startProcess(process.execPath, [program, plan, String(port), csv, kind, amount])
  await vi.waitUntil(() => answered >= 10, 20_000)
  await meanwhile()
  load.child.kill('SIGTERM')
  expect((await load.exit).code).toBe(0)
  return parseLoad(readFileSync(csv, 'utf8'))
}

afterEach(() => {
  waiting = []
  answered = 0
  isStalled = false
  server.closeAllConnections()
  server.close()
})

describe('the HTTP load generator', () => {
  it('the HTTP load generator sends further requests while the server stalls, and latency counts from the time a request was due', async () => {
    const requests = await loaded('open', '100', async () => {
      isStalled = true
      await vi.waitUntil(() => waiting.length >= 30, 20_000)
      answer()
    })
    expect(requests.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(40)
    // 30 requests, one every 10 ms: the first request has waited for the other 29.
    expect(Math.max(...requests.map(({ latency }) => latency))).toBeGreaterThan(250)
    expect(requests.filter(({ latency }) => latency > 100).length).toBeGreaterThanOrEqual(15)
    const dues = requests.map(({ due }) => due).sort((a, b) => a - b)
    expect(dues.at(-1)! - dues[0]).toBeCloseTo((dues.length - 1) * 10, -1)
    expect(new Set(requests.map(({ calls }) => `${calls.narrow} ${calls.high}`))).toEqual(
      new Set(['0 2', '1 2']),
    )
  })

  it('a load with a fixed number of clients (closed loop) sends no request while all clients wait', async () => {
    const requests = await loaded('closed', '8', async () => {
      isStalled = true
      await vi.waitUntil(() => waiting.length === 8, 20_000)
      answer()
    })
    expect(requests.length).toBeGreaterThanOrEqual(18)
    expect(requests.every(({ status }) => status === 200)).toBe(true)
  })
})
