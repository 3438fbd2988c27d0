// Cost of sampling a whole JVM without instrumentation: by its flight recorder, by CPU time, and, as a reference, by
// Thread.getAllStackTraces in a thread of the JVM (the agent's thread, one request of the client per sample), and by text dumps of all
// threads, which become rarer the longer they take.
//
// One JVM per program. For each row, rounds with and without sampling alternate, so that a slower machine slows both. `time`: CPU time of
// the program's thread divided by bare; `JVM`: CPU time of all threads per second of wall time, minus the bare value. BENCH_PROGRAMS
// selects programs.

import { readFileSync } from 'node:fs'
import { PROGRAMS, ProgramJvm, preparePrograms, range, wanted } from './programs.mjs'
import { load, median, sleep } from './support.mjs'

const ROUNDS = 5
const ROUND_MS = 1000
const SETTLE_MS = 12_000
const DEFAULT_PROGRAMS = ['Compress', 'Db', 'RayTracer']
const USER_HZ = 100

const SAMPLERS = [
  { by: 'jfr', everyMs: 10 },
  { by: 'jfr', everyMs: 1 },
  { by: 'cpu', everyMs: 10, since: 25 },
  { by: 'cpu', everyMs: 1, since: 25 },
  { by: 'cpu', everyMs: 0.1, since: 25 },
  { by: 'getAllStackTraces', everyMs: 10 },
  { by: 'getAllStackTraces', everyMs: 1 },
  { by: 'getAllStackTraces', everyMs: 0.1 },
  { by: 'stacks', everyMs: 10 },
]

export async function samplingJvm(jdks) {
  for (const jdk of jdks) {
    console.log(
      `\n${jdk.name}: ${ROUNDS} rounds of ${ROUND_MS} ms each, with and without, min / median / max`,
    )
    console.log('| program | sampler | every, ms | time | JVM, CPU s / s | samples of a thread / s |')
    console.log('| --- | --- | --- | --- | --- | --- |')
    const prepared = await preparePrograms(jdk)
    const chosen = (it) =>
      process.env.BENCH_PROGRAMS === undefined ? DEFAULT_PROGRAMS.includes(it.name) : wanted(it)
    for (const program of PROGRAMS.filter(chosen)) {
      const jvm = new ProgramJvm(jdk, prepared, program)
      try {
        await jvm.ready()
        await jvm.settle(SETTLE_MS)
        for (const sampler of SAMPLERS.filter(({ since = 0 }) => jdk.version >= since)) {
          await row(jvm, program, sampler)
        }
      } finally {
        await jvm.end()
      }
    }
  }
}

async function row(jvm, { title }, { by, everyMs }) {
  const head = `| ${title} | ${by} | ${everyMs} |`
  try {
    const times = []
    const cpus = []
    const rates = []
    for (let i = 0; i < ROUNDS; i++) {
      const bare = await measured(jvm)
      const sampling = await begin(jvm.pid, by, everyMs)
      await sleep(1500) // the cost of starting the sampling is over
      const before = await sampling.samples()
      const begun = performance.now()
      const with_ = await measured(jvm)
      const seconds = (performance.now() - begun) / 1000
      rates.push(((await sampling.samples()) - before) / seconds)
      await sampling.end()
      times.push(with_.cpu / bare.cpu)
      cpus.push(with_.jvm - bare.jvm)
    }
    console.log(`${head} ${range(times, 3)} | ${range(cpus, 3)} | ${median(rates).toFixed(0)} |`)
  } catch (error) {
    console.log(`${head} FAILED: ${error.message.split('\n')[0]} |`)
  }
}

async function measured(jvm) {
  const before = ticks(jvm.pid)
  const begun = performance.now()
  const { cpu } = await jvm.round(ROUND_MS)
  const seconds = (performance.now() - begun) / 1000
  return { cpu, jvm: (ticks(jvm.pid) - before) / USER_HZ / seconds }
}

/** Returns the CPU time of all threads of a process, in clock ticks. */
function ticks(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

async function begin(pid, by, everyMs) {
  if (by === 'getAllStackTraces') return beginAgent(pid, everyMs)
  const { JvmSampling } = await load('session/sampling/jvm-sampling.js')
  const session = await JvmSampling.start(pid, { sampling: { every: everyMs * 1e6, unit: 'ns', by } })
  const flushed = by === 'stacks' ? 0 : 1200 // a recording is a second late
  return {
    samples: async () => {
      await sleep(flushed)
      return session.status().samples
    },
    end: () => session.leave(),
  }
}

/** Sends one request after the other, each when it is due, or immediately if it is late. */
async function beginAgent(pid, everyMs) {
  const { attachDoor } = await load('session/doors/door.js')
  const { Agent } = await load('wire/agent.js')
  const door = await attachDoor(pid)
  const agent = new Agent(door.link)
  await agent.hello()
  let taken = 0
  let stopped = false
  const loop = (async () => {
    for (let due = performance.now(); !stopped; due += everyMs) {
      const wait = due - performance.now()
      if (wait > 0.2) await sleep(wait)
      else due = performance.now()
      await agent.stackTraces(512)
      taken++
    }
  })()
  return {
    samples: async () => taken,
    end: async () => {
      stopped = true
      await loop
      await agent.detach()
      agent.close()
      door.leave()
    },
  }
}
