// Cost in the client of the segments of a recording (cct/segments.ts) at a million contexts: processor time, and the longest time without a
// sign of life, in processor time and in elapsed time. On a busy machine, the elapsed time includes waits for a processor.

import { load } from './support.mjs'

const METHODS = 1000
const OPTIONS = { calibration: { innerTicks: 3, outerTicks: 2 }, isTime: true, countsCalls: false }

export async function segments() {
  const { CctBuilder } = await load('cct/builder.js')
  const { Segments } = await load('cct/segments.js')
  const builder = new CctBuilder()
  const contexts = []
  const root = builder.contextOf(1, 0, 1)
  for (let caller = 0; caller < METHODS; caller++) {
    const above = builder.contextOf(1, root, 2 + caller)
    for (let method = 0; method < METHODS; method++)
      contexts.push(builder.contextOf(1, above, 2 + METHODS + method))
  }
  const change = (every) => {
    for (let i = 0; i < contexts.length; i += every) builder.addTo(1, contexts[i], 1, 10)
  }
  const msOfCpu = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  let silent = { cpu: 0, elapsed: 0 }
  let heard = silent
  const alive = () => {
    const now = { cpu: msOfCpu(), elapsed: performance.now() }
    silent = {
      cpu: Math.max(silent.cpu, now.cpu - heard.cpu),
      elapsed: Math.max(silent.elapsed, now.elapsed - heard.elapsed),
    }
    heard = now
  }
  const kept = new Segments(builder, OPTIONS, alive)
  let ms = 0
  const measured = (name, run) => {
    silent = { cpu: 0, elapsed: 0 }
    heard = { cpu: msOfCpu(), elapsed: performance.now() }
    const begun = heard.cpu
    run()
    alive()
    const text = (ms) => `${ms.toFixed(0).padStart(4)} ms`
    console.log(
      `  ${name.padEnd(44)} ${text(heard.cpu - begun)}, silent ${text(silent.cpu)}, elapsed ${text(silent.elapsed)}`,
    )
  }
  const end = () => {
    ms += 5000
    kept.end(ms, ms)
  }
  console.log(`  ${builder.contexts} contexts`)
  change(1)
  measured('first segment', end)
  for (const [name, every] of [
    ['none changed', 0],
    ['1 of 100 changed', 100],
    ['all changed', 1],
  ]) {
    if (every > 0) change(every)
    measured(name, end)
  }
  change(1)
  measured('all changed, and segments are merged', end)
  measured('all segments for a file', () => kept.state(ms, ms))
}
