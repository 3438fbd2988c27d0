// Tests whether the target is as fast after a detach as before, and measures the duration of the detach and the speed in between, on
// test/fixtures/Ticker.java: threads that only call a root with a tiny body.
//
// Rates are given per second and per second of the thread's CPU time. Other load on the machine affects only the first. A second JVM with
// the same program is never attached to. The two JVMs are measured in turn, and the other JVM is paused, so the ratio of the second JVM
// shows the influence of the machine.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, compile, median, project, sleep, spread, startSession, verdict } from './support.mjs'

const ROOT = 'fix.Ticker.work'
const THREADS = 1
const ALTERNATIONS = 3
const SAMPLES = 5
const SAMPLE_MS = 300
const WARM_UP_DURATION_MS = 2500
const PROFILE_MS = 600
const GOAL = 0.99
const DETACH_GOAL_MS = 300

export async function detach(jdks) {
  for (const jdk of jdks) await onJdk(jdk)
}

async function onJdk(jdk) {
  const classes = await compile(jdk, [join(project, 'test/fixtures/Ticker.java')])
  const start = () => new Child(jdk.java, ['-cp', classes, 'fix.Ticker', String(THREADS), 'tiny'])
  const target = start()
  const control = start()
  /** Returns root calls per second of wall time, and per second of the busy thread's CPU time. */
  const rate = async (java, ms = SAMPLE_MS) => {
    java.cpuFile ??= busyThread(java.pid)
    const cpu = cpuNs(java.cpuFile)
    const begun = performance.now()
    const wall = Number((await java.ask(`rate ${ms}`, /^rate/)).split(' ')[1])
    const share = (cpuNs(java.cpuFile) - cpu) / 1e6 / (performance.now() - begun)
    return { wall, cpu: wall / Math.min(1, share) }
  }
  const samples = async () => {
    const taken = { target: [], control: [] }
    for (let i = 0; i < SAMPLES; i++) {
      taken.target.push(await rate(target))
      await target.ask('pause', /^paused/)
      await control.ask('resume', /^resumed/)
      await sleep(20)
      taken.control.push(await rate(control))
      await control.ask('pause', /^paused/)
      await target.ask('resume', /^resumed/)
      await sleep(20)
    }
    return taken
  }
  console.log(
    `\n${jdk.name}: ${THREADS} busy thread, ${SAMPLES} samples of ${SAMPLE_MS} ms a row; min, median, max`,
  )
  let session
  try {
    await Promise.all([target.line(/^ready/), control.line(/^ready/)])
    await sleep(WARM_UP_DURATION_MS)
    await control.ask('pause', /^paused/)
    const row = (name, values, more = '') => {
      const columns = ['wall', 'cpu'].map((by) =>
        spread(
          values.map((v) => v[by] / 1e6),
          3,
        ),
      )
      console.log(`  ${name.padEnd(20)} ${columns.join('  ')}${more}`)
    }
    console.log(`  ${'M root calls a'.padEnd(20)} ${'second'.padStart(26)}  ${'CPU second'.padStart(26)}`)
    const before = await samples()
    row('before', before.target)
    row('before, control', before.control)
    const walls = []
    const agents = []
    const ratios = []
    const drifts = []
    const all = { target: [], control: [] }
    for (let k = 1; k <= ALTERNATIONS; k++) {
      session = await startSession(target.pid, ROOT)
      const ended = session.ended
      await sleep(300)
      const inside = [await rate(target, PROFILE_MS)]
      const { waitMs, elapsedMs } = await session.status()
      const begun = performance.now()
      const report = await session.detach()
      walls.push(performance.now() - begun)
      if (report !== null) agents.push(report.ms)
      const { events, truncated } = await session.profile()
      await session.close()
      session = undefined
      if (truncated) console.log(`  THE SESSION ENDED: ${await ended}`)
      await sleep(WARM_UP_DURATION_MS)
      const after = await samples()
      ratios.push(ratio(after.target, before.target))
      drifts.push(ratio(after.control, before.control))
      all.target.push(...after.target)
      all.control.push(...after.control)
      row(
        `inside session ${k}`,
        inside,
        `   ${(1 / ratio(inside, before.target).cpu).toFixed(0)} times slower; ${(events.count / 1e6).toFixed(0)} M events, wait ${((100 * waitMs) / elapsedMs / THREADS).toFixed(0)} %`,
      )
      row(`after session ${k}`, after.target, `   ${told(ratios.at(-1))} of before`)
      row(`after ${k}, control`, after.control, `   ${told(drifts.at(-1))} of before`)
    }
    console.log(
      `  detach, as the client sees it ${spread(walls, 0, 5)} ms; ${verdict(median(walls) <= DETACH_GOAL_MS, `<= ${DETACH_GOAL_MS} ms`)}`,
    )
    console.log(`  detach, as the agent tells it ${spread(agents, 0, 5)} ms`)
    const total = ratio(all.target, before.target)
    const reached = (by) => verdict(total[by] >= GOAL, `>= ${GOAL * 100} %`)
    console.log(
      `  after / before by CPU time ${percent(total.cpu)}, ${reached('cpu')}; by wall ${percent(total.wall)}, ${reached('wall')}`,
    )
    console.log(`  the JVM that was never attached to: ${told(ratio(all.control, before.control))}`)
  } finally {
    await session?.detach().catch(() => {})
    await session?.close()
    await Promise.all([target.end(null), control.end(null)])
  }
}

const percent = (ratio) => `${(ratio * 100).toFixed(1)} %`

const told = ({ wall, cpu }) => `${percent(wall)} by wall, ${percent(cpu)} by CPU time`

/** Returns the ratio of the medians. */
function ratio(after, before) {
  const by = (what) => median(after.map((v) => v[what])) / median(before.map((v) => v[what]))
  return { wall: by('wall'), cpu: by('cpu') }
}

/** Returns the scheduler statistics of the thread that calls the root. */
function busyThread(pid) {
  const tasks = `/proc/${pid}/task`
  const tid = readdirSync(tasks).find((id) =>
    readFileSync(join(tasks, id, 'comm'), 'utf8').startsWith('ticker-'),
  )
  return join(tasks, tid, 'schedstat')
}

const cpuNs = (file) => Number(readFileSync(file, 'utf8').split(' ')[0])
