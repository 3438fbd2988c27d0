// Whether a thread waits for a client that could keep up: one Java thread makes instrumented calls at 70 % of the client's maximum rate, so
// that on two cores each of the two has one core.
//
// The client's maximum rate is measured first, with the thread at full speed, in M events per second of the client's own processor time
// (this process: reading, the tree, V8's collector and compiler). If one thread cannot reach this rate, a rate slightly below the thread's
// maximum is used. Waiting is measured by the session, from the events in which the thread reports its waits. *Pictures* are the snapshots
// of a live view, eight per second.

import { join } from 'node:path'
import { Child, compile, median, project, sleep, startSession, verdict } from './support.mjs'

const DEPTHS = [0, 6, 10]
const LONGEST_GROWTH_S = 12
const SAMPLES = 3
const SAMPLE_MS = 1200
const SHARE = 0.7
const GOAL = 1

export async function wait(jdks) {
  for (const jdk of jdks) {
    const classes = await compile(jdk, [join(project, 'test/bench/java/bench/Paced.java')])
    console.log(`\n${jdk.name}`)
    console.log(
      '  contexts  phase                           asked, M/s  made, M/s  client, % of a core  M events a CPU s  waits',
    )
    for (const depth of DEPTHS) await tree(jdk, classes, depth)
  }
}

async function tree(jdk, classes, depth) {
  const java = new Child(jdk.java, ['-cp', classes, 'bench.Paced'])
  try {
    await java.line(/^ready/)
    await java.ask(`depth ${depth}`, /^depth/)
    await sleep(1500)
    const session = await startSession(java.pid, 'bench.Paced.root')
    void session.ended.then((reason) => console.log(`  THE SESSION ENDED: ${reason}`))
    await settle(java)
    const free = await row(java, session, 'full speed', 0)
    const able = free.made / free.clientShare
    const pace = Math.min(able * SHARE, free.made * 0.95)
    const limit =
      pace < able * SHARE ? `${((pace / able) * 100).toFixed(0)} %, all that the thread can` : '70 %'
    const paced = await row(java, session, limit, pace)
    const reached = paced.made > pace * 0.97 ? '' : ' (the pace was not reached)'
    console.log(
      `            ${verdict(paced.waitPercent < GOAL, `< ${GOAL} % of the thread's time`)}${reached}`,
    )
    const pictures = { on: true, count: 0 }
    const drawing = draw(session, pictures)
    await row(java, session, 'and pictures', pace)
    pictures.on = false
    await drawing
    await session.detach()
    await session.close()
  } finally {
    await java.end()
  }
}

async function draw(session, pictures) {
  while (pictures.on) {
    const begun = performance.now()
    await session.snapshot(false)
    pictures.count++
    const spent = performance.now() - begun
    await sleep(Math.max(125 - spent, spent))
  }
}

/** Waits until the rate is constant: at first the tree grows and the JVM compiles. */
async function settle(java) {
  let before = 0
  for (let second = 0; second < LONGEST_GROWTH_S; second++) {
    const rate = Number((await java.ask('rate 1000', /^rate/)).split(' ')[1])
    if (second > 2 && Math.abs(rate - before) < before * 0.05) return
    before = rate
  }
}

/** @param pace  M events per second; 0: the maximum */
async function row(java, session, name, pace) {
  await java.ask(`pace ${Math.round(pace * 1e6)}`, /^pace/)
  await sleep(500)
  const samples = []
  for (let i = 0; i < SAMPLES; i++) samples.push(await sample(java, session))
  const { nodes } = await session.engine.recorder.stats()
  const [made, clientShare, waitPercent] = ['made', 'clientShare', 'waitPercent'].map((key) =>
    median(samples.map((it) => it[key])),
  )
  const waits = samples.map((it) => it.waitPercent)
  const columns = [
    String(nodes).padStart(10),
    ` ${name.padEnd(32)}`,
    (pace === 0 ? 'all' : pace.toFixed(1)).padStart(9),
    made.toFixed(1).padStart(10),
    (clientShare * 100).toFixed(0).padStart(20),
    (made / clientShare).toFixed(1).padStart(17),
    `   ${[Math.min(...waits), waitPercent, Math.max(...waits)].map((it) => it.toFixed(2)).join(' / ')} %`,
  ]
  console.log(columns.join(' '))
  return { made, clientShare, waitPercent }
}

async function sample(java, session) {
  const before = await session.status()
  const cpu = process.cpuUsage()
  const begun = performance.now()
  await java.ask(`rate ${SAMPLE_MS}`, /^rate/)
  const after = await session.status()
  const spent = performance.now() - begun
  const { user, system } = process.cpuUsage(cpu)
  return {
    made: (after.events - before.events) / spent / 1e3,
    clientShare: (user + system) / 1e3 / spent,
    waitPercent: ((after.waitMs - before.waitMs) / spent) * 100,
  }
}
