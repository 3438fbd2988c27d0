// Accuracy and cost of samples on whole programs.
//
// By bytecodes, as in Komorium's figures 10 to 14 and table I: overlap with the exact profile for each granularity, with a random number
// added (r: 0 to 99) and without; the error of the count; contexts; CPU time of a run relative to bare.
//
// By time, with the JVM's flight recorder and without instrumentation. Only the part inside the root of each sample is used. As in Hofer's
// figures 9 to 13 and Whaley's section 6: CPU time, overlap and hot edges compared with exact time, and agreement of two segments of a run.
// Rounds with and without sampling alternate.
//
// One JVM per program. The granularity is changed in the running session, and the recorded data are reset in between. BENCH_PROGRAMS
// selects rows, BENCH_SAMPLES=bytecodes or time selects one part.

import {
  endSession,
  PROGRAMS,
  ProgramJvm,
  preparePrograms,
  profileProgram,
  range,
  WHOLE,
  wanted,
} from './programs.mjs'
import { geometric, load, median, sleep, verdict } from './support.mjs'

const GRANULARITIES = [500, 1000, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000]
const RANDOM = 100
/** Number of bytecodes in each session, and for the accuracy of each granularity. */
const BYTECODES = 5e8
const ROUNDS = 3
const ROUND_MS = 500
const SEGMENT_MS = 3000
const BARE_SETTLE_MS = 12_000
const SETTLE_MS = 12_000
const DRAIN_MS = 100

const halves = process.env.BENCH_SAMPLES?.split(',') ?? ['bytecodes', 'time']

export async function sampling(jdks) {
  for (const jdk of jdks) {
    const prepared = await preparePrograms(jdk)
    if (halves.includes('bytecodes')) await byBytecodes(jdk, prepared)
    if (halves.includes('time')) await byTime(jdk, prepared)
  }
}

// ---- by bytecodes ----

async function byBytecodes(jdk, prepared) {
  console.log(
    `\n${jdk.name}: samples by bytecodes, scheme B, about ${BYTECODES.toExponential(0)} bytecodes each`,
  )
  const rows = []
  for (const program of PROGRAMS.filter(wanted)) {
    try {
      rows.push({ title: program.title, ...(await sampledByBytecodes(jdk, prepared, program)) })
      console.log(`  ${program.title}: ${rows.at(-1).runs} runs a profile, ${rows.at(-1).contexts} contexts`)
    } catch (error) {
      console.log(`  ${program.title} FAILED: ${error.message.split('\n')[0]}`)
    }
  }
  const settings = rows[0].settings.map(({ name }) => name)
  const of = (name, value) =>
    rows.map((row) =>
      value(
        row.settings.find((it) => it.name === name),
        row,
      ),
    )
  const head = (what) => {
    const titles = [what, ...rows.map(({ title }) => title), 'geometric mean']
    console.log(`\n| ${titles.join(' | ')} |\n| ${titles.map(() => '---').join(' | ')} |`)
  }
  head('overlap %')
  for (const name of settings) {
    const values = of(name, ({ overlap }) => overlap * 100)
    console.log(`| ${name} | ${[...values, geometric(values)].map((it) => it.toFixed(2)).join(' | ')} |`)
  }
  for (const [name, least] of [
    ['500+r', 96],
    ['10000+r', 92],
  ]) {
    const mean = geometric(of(name, ({ overlap }) => overlap * 100))
    console.log(`${name}: ${mean.toFixed(2)} %, ${verdict(mean >= least, `${least} %`)}`)
  }
  head('error of the count')
  for (const name of settings.filter((it) => !it.endsWith('r'))) {
    console.log(`| ${name} | ${of(name, ({ error }) => error.toExponential(1)).join(' | ')} | |`)
  }
  head('contexts, % of the exact profile’s')
  for (const name of settings.filter((it) => it.endsWith('r'))) {
    const values = of(name, ({ contexts }, row) => (contexts / row.contexts) * 100)
    console.log(`| ${name} | ${[...values, geometric(values)].map((it) => it.toFixed(1)).join(' | ')} |`)
  }
  head('CPU time / bare')
  for (const name of settings.filter((it) => it.endsWith('r'))) {
    const values = of(name, ({ factor }) => factor)
    console.log(`| ${name} | ${[...values, geometric(values)].map((it) => it.toFixed(2)).join(' | ')} |`)
  }
  const dearest = geometric(of('500+r', ({ factor }) => factor))
  console.log(
    `500+r: ${((dearest - 1) * 100).toFixed(0)} % overhead, ${verdict(dearest < 1.47, 'less than 47 %')}`,
  )
}

async function sampledByBytecodes(jdk, prepared, program) {
  const { overlap } = await load('profile/overlap.js')
  const jvm = new ProgramJvm(jdk, prepared, program)
  try {
    await jvm.ready()
    await jvm.settle(BARE_SETTLE_MS)
    const bare = median(await cpus(jvm))
    const flags = { ...program.flags }
    const counting = await profileProgram(jvm.pid, WHOLE, 'b', { ...flags, mode: 'bytecodes' })
    await jvm.round(2000) // all called methods have probes after this
    const one = await profileOf(counting, () => jvm.run())
    const runs = Math.max(2, Math.round(BYTECODES / one.total))
    const exact = await profileOf(counting, () => repeat(runs, () => jvm.run()))
    await endSession(counting)

    const session = await profileProgram(...[jvm.pid, WHOLE, 'b', { ...flags, mode: 'sample' }], {
      sampling: { every: GRANULARITIES[0], unit: 'bytecodes', random: RANDOM },
    })
    const settings = []
    for (const random of [RANDOM, 0]) {
      for (const every of GRANULARITIES) {
        await session.engine.agent.sampling({ unit: 'bytecodes', every, random })
        await jvm.settle(SETTLE_MS / (settings.length === 0 ? 1 : 4))
        const sampled = await profileOf(session, () => repeat(runs, () => jvm.run()))
        settings.push({
          name: `${every}${random > 0 ? '+r' : ''}`,
          overlap: overlap(exact, sampled),
          error: sampled.sampling.sum / exact.total - 1,
          contexts: sampled.merged.count,
          factor: random > 0 ? median(await cpus(jvm)) / bare : Number.NaN,
        })
      }
    }
    await endSession(session)
    return { runs, contexts: exact.merged.count, settings }
  } finally {
    await jvm.end()
  }
}

// ---- by time ----

const INTERVALS_MS = [10, 1]
const TIMED_ROUNDS = 5
/** Time after which the cost of starting a recording is over. */
const BEGUN_MS = 1500

async function byTime(jdk, prepared) {
  console.log(
    `\n${jdk.name}: samples inside the root by the JVM's flight recorder; CPU time of a run with / without, min / median / max; segments of ${SEGMENT_MS} ms`,
  )
  console.log(
    '| program | every | CPU / bare | samples inside | of all % | overlap with exact time % | hot edges % | correlation of segments |',
  )
  console.log(`| ${Array(8).fill('---').join(' | ')} |`)
  const factors = new Map(INTERVALS_MS.map((it) => [it, []]))
  for (const program of PROGRAMS.filter(wanted)) {
    try {
      for (const row of await sampledByTime(jdk, prepared, program)) {
        factors.get(row.ms).push(median(row.factors))
        const parts = [row.inside, row.overlap, row.hot].map((it) => (it * 100).toFixed(1))
        console.log(
          `| ${program.title} | ${row.ms} ms | ${range(row.factors, 3)} | ${row.samples} | ${parts.join(' | ')} | ${row.correlation.toFixed(4)} |`,
        )
      }
    } catch (error) {
      console.log(`| ${program.title} | FAILED: ${error.message.split('\n')[0]} |`)
    }
  }
  for (const [ms, most] of [
    [10, 2],
    [1, 10],
  ]) {
    const percent = (geometric(factors.get(ms)) - 1) * 100
    console.log(
      `${ms} ms: ${percent.toFixed(1)} % overhead (geometric mean), ${verdict(percent < most, `less than ${most} %`)}`,
    )
  }
}

async function sampledByTime(jdk, prepared, program) {
  const { correlation, hotEdgeCoverage, overlap } = await load('profile/overlap.js')
  const { JvmSampling } = await load('session/sampling/jvm-sampling.js')
  const { parseRoot } = await load('reveal/patterns.js')
  const roots = [parseRoot(WHOLE)]
  const jvm = new ProgramJvm(jdk, prepared, program)
  const sampled = async (ms, roundMs) => {
    const session = await JvmSampling.start(jvm.pid, {
      sampling: { every: ms * 1e6, unit: 'ns', by: 'jfr' },
      roots,
    })
    await jvm.settle(BEGUN_MS)
    session.reset()
    const { cpu } = await jvm.round(roundMs)
    await session.leave()
    return { cpu, profile: session.profile() }
  }
  try {
    await jvm.ready()
    await jvm.settle(BARE_SETTLE_MS)
    const rows = []
    for (const ms of INTERVALS_MS) {
      const ratios = []
      while (ratios.length < TIMED_ROUNDS) {
        const bare = await jvm.round(2 * ROUND_MS)
        ratios.push((await sampled(ms, 2 * ROUND_MS)).cpu / bare.cpu)
      }
      const [one, two] = [await sampled(ms, SEGMENT_MS), await sampled(ms, SEGMENT_MS)]
      rows.push({ ms, factors: ratios, one: one.profile, two: two.profile })
    }
    const session = await profileProgram(jvm.pid, WHOLE, 'b', program.flags)
    await jvm.settle(SETTLE_MS)
    const exact = await profileOf(session, () => jvm.round(SEGMENT_MS))
    await endSession(session)
    return rows.map(({ ms, factors, one, two }) => {
      const { count } = one.events
      const alike = asInstrumented(one, exact)
      return {
        ...{ ms, factors },
        samples: count,
        inside: count / (count + one.sampling.outside),
        overlap: overlap(exact, alike),
        hot: hotEdgeCoverage(exact, alike, 0.05),
        correlation: correlation(one, two),
      }
    })
  } finally {
    await jvm.end()
  }
}

/** Returns the tree as exact time would have it: samples in methods without probes belong to their callers. */
function asInstrumented({ merged, methodNames }, exact) {
  const key = ({ class: owner, method, descriptor }) => `${owner}.${method}${descriptor}`
  const known = new Set(exact.methodNames.filter((it) => it !== undefined).map(key))
  const parent = []
  const method = []
  const self = []
  const found = new Map()
  const places = new Int32Array(merged.count)
  for (let node = 0; node < merged.count; node++) {
    const above = merged.parent[node] < 0 ? -1 : places[merged.parent[node]]
    const name = key(methodNames[merged.method[node]])
    let place = above
    if (above < 0 || known.has(name)) {
      place = found.get(`${above} ${name}`) ?? parent.length
      if (place === parent.length) {
        found.set(`${above} ${name}`, place)
        parent.push(above)
        method.push(merged.method[node])
        self.push(0)
      }
    }
    places[node] = place
    self[place] += merged.metrics.selfSamples[node]
  }
  return { merged: preorder(parent, method, self), methodNames }
}

function preorder(parent, method, self) {
  const children = parent.map(() => [])
  for (const [node, above] of parent.entries()) if (above >= 0) children[above].push(node)
  const order = []
  const visit = (node) => {
    order.push(node)
    for (const child of children[node]) visit(child)
  }
  for (const [node, above] of parent.entries()) if (above < 0) visit(node)
  const at = new Map(order.map((node, i) => [node, i]))
  const count = order.length
  const size = new Int32Array(count).fill(1)
  const selfSamples = Float64Array.from(order, (node) => self[node])
  const totalSamples = selfSamples.slice()
  const parents = Int32Array.from(order, (node) => (parent[node] < 0 ? -1 : at.get(parent[node])))
  for (let i = count - 1; i >= 0; i--) {
    if (parents[i] < 0) continue
    size[parents[i]] += size[i]
    totalSamples[parents[i]] += totalSamples[i]
  }
  const metrics = { calls: new Float64Array(count), selfSamples, totalSamples }
  return { count, method: Int32Array.from(order, (node) => method[node]), parent: parents, size, metrics }
}

// ---- all ----

async function cpus(jvm) {
  const rounds = []
  while (rounds.length < ROUNDS) rounds.push((await jvm.round(ROUND_MS)).cpu)
  return rounds
}

async function repeat(times, one) {
  for (let i = 0; i < times; i++) await one()
}

/** Waits until the client has read everything that the idle program has written. */
async function drained(session) {
  let before = -1
  for (;;) {
    await sleep(DRAIN_MS)
    const { events, samples } = await session.engine.recorder.stats()
    if (events + samples.count === before) return
    before = events + samples.count
  }
}

/** Profiles some work. Returns the parts of a profile that a comparison needs, the sum of the roots' costs, and facts about the samples. */
async function profileOf(session, work) {
  await drained(session)
  session.reset()
  await work()
  await drained(session)
  const { merged } = await session.snapshot(false)
  const { samples } = await session.engine.recorder.stats()
  const methodNames = []
  for (const id of merged.method) methodNames[id] ??= session.methodName(id)
  const total = merged.metrics.totalBytecodes ?? merged.metrics.totalSamples ?? merged.metrics.totalNs
  let sum = 0
  for (let i = 0; i < merged.count; i += merged.size[i]) sum += total[i]
  return { merged, methodNames, total: sum, sampling: samples, nsPerTick: session.engine.clock.nsPerTick }
}
