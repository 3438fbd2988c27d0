// A program that attaches to one JVM repeatedly, and reports its own memory after each round of sessions:
//
//   node --expose-gc soak-client.mjs <pid> <root>
//
// A number on stdin starts this number of sessions; the answer is one line of JSON. Uses the built package, as a program would.

import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { attach } from 'jfluid'

const [pid, root] = process.argv.slice(2)
let sessions = 0
let longestDetachMs = 0
let withoutCalls = 0
let lambdaClasses = 0

async function session() {
  sessions++
  const attachment = await attach(Number(pid), { root })
  const began = performance.now()
  // Waits until the root has been called: the lambdas are then linked again.
  for (;;) {
    const { phase } = await attachment.status()
    if (phase === 'recording' && (await attachment.picture()).tree.count > 1) break
    if (performance.now() - began > 10_000) break
  }
  const beforeDetach = performance.now()
  const profile = await attachment.detach()
  longestDetachMs = Math.max(longestDetachMs, performance.now() - beforeDetach)
  if (profile.merged.count < 2) withoutCalls++
  lambdaClasses = profile.detach.lambdaClasses
}

for await (const line of createInterface({ input: process.stdin })) {
  for (let n = Number(line); n > 0; n--) await session()
  globalThis.gc()
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage()
  const descriptors = readdirSync('/proc/self/fd').length
  const told = {
    sessions,
    withoutCalls,
    longestDetachMs,
    lambdaClasses,
    rss,
    heapUsed,
    external,
    arrayBuffers,
    descriptors,
  }
  console.log(JSON.stringify(told))
  longestDetachMs = 0
}
