// Precision of the session's clock: converted ticks are compared with CLOCK_MONOTONIC. Also tests whether a thread that is moved between
// cores ever reads a smaller value than before.
//
// The drift is the drift of the session's own conversion, whose rate comes from a pair every half second. The reference are pairs read by
// the target itself, each the closest of 2,000 pairs. The drift is extrapolated to an hour, and so is the uncertainty from the width of the
// first and the last pair.

import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Child, compile, sleep, startSession, verdict } from './support.mjs'

const EXPORTS = ['--add-exports=jdk.jfr/jdk.jfr.internal=ALL-UNNAMED']
const DRIFT_MS = 180_000
const EVERY_MS = 1000
const SPIN_MS = 10_000
const LOADED_THREADS = 8
const GOAL_MS = 1

export async function clock(jdks) {
  const targets = await Promise.all(jdks.map(start))
  try {
    // All targets are measured at the same time, since a target that waits for the next request uses no time.
    await Promise.all(targets.map(measureDrift))
    for (const target of targets) await measureOrder(target)
  } finally {
    for (const { java, session } of targets) {
      await session.detach().catch(() => {})
      await session.close()
      await java.end()
    }
  }
}

async function start(jdk) {
  const classes = await compile(jdk, [join(import.meta.dirname, 'java/bench/Clock.java')], EXPORTS)
  const java = new Child(jdk.java, [...EXPORTS, '-cp', classes, 'bench.Clock'])
  await java.line(/^ready/)
  const numbers = async (line, answer) => (await java.ask(line, answer)).split(' ').slice(1).map(Number)
  for (let i = 0; i < 20; i++) await numbers('pair', /^pair/) // until the code is compiled
  return { jdk, java, numbers, session: await startSession(java.pid, 'bench.Clock.root') }
}

async function measureDrift({ jdk, session, numbers }) {
  const points = []
  for (const begun = performance.now(); performance.now() - begun < DRIFT_MS; await sleep(EVERY_MS)) {
    const [ticks, nanos, width] = await numbers('pair', /^pair/)
    points.push({ ticks, nanos, width })
  }
  const first = points[0]
  const last = points.at(-1)
  const seconds = (last.nanos - first.nanos) / 1e9
  // The target reads its clock before and after the other clock. The uncertainty of a pair is half of the distance between these two
  // readings.
  const nsPerTick = session.engine.clock.nsPerTick
  const doubtNs = ((first.width + last.width) / 2) * nsPerTick
  const offNs = (p, rate) => (p.ticks - first.ticks) * rate - (p.nanos - first.nanos)
  const anHour = (ns) => ((ns / 1e6) * 3600) / seconds
  const drift = anHour(offNs(last, nsPerTick))
  const bound = anHour(doubtNs)
  const worst = Math.max(...points.map((p) => Math.abs(offNs(p, nsPerTick))))
  const second = points[1]
  const constant = anHour(offNs(last, (second.nanos - first.nanos) / (second.ticks - first.ticks)))
  console.log(
    `\n${jdk.name}: clock ${session.engine.clock.name}, ${points.length} pairs in ${seconds.toFixed(0)} s`,
  )
  console.log(
    `  at the end ${offNs(last, nsPerTick).toFixed(0)} ns off, ${drift.toFixed(4)} ms an hour +- ${bound.toFixed(4)}; ${verdict(Math.abs(drift) + bound <= GOAL_MS, `<= ${GOAL_MS} ms`)}`,
  )
  console.log(
    `  in between ${worst.toFixed(0)} ns at most; by the rate of the first second alone ${constant.toFixed(1)} ms an hour`,
  )
}

async function measureOrder({ jdk, java, numbers }) {
  const setAffinity = affinity()
  console.log(`\n${jdk.name}: readings of one thread that are before their predecessor`)
  const told = ([readings, backward, worst], how) =>
    console.log(
      `  ${how}: ${backward} of ${(readings / 1e6).toFixed(0)} M${backward > 0 ? `, by ${worst} ticks at most` : ''}; ${verdict(backward === 0, 'none')}`,
    )
  if (setAffinity !== undefined) {
    let over = false
    const spinning = numbers(`spin 2 ${SPIN_MS}`, /^spun/).finally(() => {
      over = true
    })
    let moves = 0
    while (!over) {
      const movers = moversOf(java.pid)
      for (let i = 0; i < 1000 && !over; i++) {
        movers.forEach((tid, k) => {
          if (setAffinity(tid, 1 << ((i + k) & 1)) === 0) moves++
        })
        await sleep(1)
      }
    }
    told(await spinning, `2 threads, ${moves} times put on another core`)
  }
  const spinning = numbers(`spin ${LOADED_THREADS} ${SPIN_MS}`, /^spun/)
  await sleep(SPIN_MS - 2000)
  const migrations = migrationsOf(java.pid)
  told(await spinning, `${LOADED_THREADS} threads, moved by the scheduler${migrations}`)
}

/** Returns the native ids of the spinning threads. */
function moversOf(pid) {
  return readdirSync(`/proc/${pid}/task`)
    .filter((tid) => {
      try {
        return readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8').startsWith('mover-')
      } catch {
        return false
      }
    })
    .map(Number)
}

function migrationsOf(pid) {
  try {
    const counts = moversOf(pid).map((tid) =>
      Number(
        /nr_migrations\s*:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/task/${tid}/sched`, 'utf8'))?.[1] ?? 0,
      ),
    )
    return ` ${counts.reduce((a, b) => a + b, 0)} times`
  } catch {
    return ''
  }
}

/** Returns sched_setaffinity(2) for one thread, which returns 0 if it worked; undefined without koffi or on one core. */
function affinity() {
  try {
    const koffi = createRequire(import.meta.url)('koffi')
    const call = koffi
      .load('libc.so.6')
      .func('int sched_setaffinity(int pid, size_t size, const uint64_t *mask)')
    return (tid, mask) => call(tid, 8, [mask])
  } catch {
    console.log('  threads are not moved: koffi is not there')
    return undefined
  }
}
