// Cost of timing a region in the target: methods of 100 ns, 1 us and 10 us: bare, timed, with two readings of the same clock and a store
// written manually, and bare again after the detach. All in one JVM. BENCH_THREADS: number of threads, default 1.

import { join } from 'node:path'
import { Child, compile, load, median, spread } from './support.mjs'

const ROUNDS = 7
const ROUND_MS = 100
const WARM_UP_MS = 400
const SIZES = [
  { loop: 'ns100', hand: 'hand100' },
  { loop: 'us1', hand: 'hand1' },
  { loop: 'us10', hand: 'hand10' },
]
const EXPORTS = [
  '--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED',
  '--add-exports=jdk.jfr/jdk.jfr.internal=ALL-UNNAMED',
]

export async function regions(jdks) {
  for (const jdk of jdks) await onJdk(jdk)
}

async function onJdk(jdk) {
  const threads = Number(process.env.BENCH_THREADS ?? 1)
  const classes = await compile(jdk, [join(import.meta.dirname, 'java/bench/Region.java')], EXPORTS)
  console.log(
    `\n${jdk.name}: ns of CPU time a call, ${threads} thread(s), ${ROUNDS} rounds of ${ROUND_MS} ms; min, median, max`,
  )
  const java = new Child(jdk.java, [...EXPORTS, '-cp', classes, 'bench.Region'])
  const measure = async (loop) => {
    const answer = await java.ask(
      `measure ${loop} ${threads} ${WARM_UP_MS} ${ROUNDS} ${ROUND_MS}`,
      /^measured/,
    )
    return answer
      .split(' ')
      .slice(1)
      .map((pair) => Number(pair.split(':')[1]))
  }
  try {
    await java.line(/^ready/)
    const bare = {}
    const hand = {}
    for (const it of SIZES) {
      bare[it.loop] = await measure(it.loop)
      hand[it.loop] = await measure(it.hand)
    }
    const session = await startRegions(
      java.pid,
      SIZES.map(({ loop }) => `bench.Region.${loop}`),
    )
    const timed = {}
    for (const { loop } of SIZES) timed[loop] = await measure(loop)
    const { waitMs, elapsedMs } = await session.status()
    const found = await session.regions()
    await session.detach()
    const { calibration } = await session.profile()
    await session.close()
    for (const [i, { loop }] of SIZES.entries()) {
      const after = await measure(loop)
      const [b, t, h, a] = [bare[loop], timed[loop], hand[loop], after].map(median)
      const { percentilesNs, meanNs, count } = found[i]
      console.log(
        `  ${loop.padEnd(6)} bare ${spread(bare[loop])}   timed ${spread(timed[loop])}   by hand ${spread(hand[loop])}`,
      )
      console.log(
        `         timed: +${(t - b).toFixed(1)} ns, ${((t / b) * 100 - 100).toFixed(1)} %; by hand: +${(h - b).toFixed(1)} ns; after the detach ${((b / a) * 100).toFixed(1)} % of the speed; told: p50 ${percentilesNs['50'].toFixed(1)} ns, mean ${meanNs.toFixed(1)} ns of ${count}`,
      )
    }
    console.log(
      `  clock ${calibration.clock}; calibrated: t_I ${calibration.innerNs.toFixed(1)} ns, t_O ${calibration.outerNs.toFixed(1)} ns; waited ${((waitMs / elapsedMs) * 100).toFixed(2)} %`,
    )
  } finally {
    await java.end()
  }
}

async function startRegions(pid, regions) {
  const { attachDoor } = await load('session/doors/door.js')
  const { Session } = await load('session/session.js')
  const { commandOptions } = await load('commands/options.js')
  const options = await commandOptions({ region: regions, scheme: 'b' })
  return Session.start(await attachDoor(pid), options)
}
