// A program that attaches to one JVM again and again, and tells after each round of sessions what memory it has left:
//
//   node --expose-gc soak-client.mjs <pid> <root>
//
// A number on stdin is so many sessions; the answer is one line of JSON. The built package, as a program uses it.

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
  // Until the root has been called: lambdas are linked anew by then.
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
