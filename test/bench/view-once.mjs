// One live view of one tree, in the terminal in which it is started: a real screen, a real recorder, and a feeder instead of the target.
// Its cost is written to a file as JSON.
//
//   node view-once.mjs <contexts> <M events per second> <seconds per phase> <result file>

import { openSync, readdirSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, load, sleep, temporaryDirectory } from './support.mjs'

const { createRing } = await load('events/ring.js')
const { Recorder } = await load('session/recorder/recorder.js')
const { liveSource } = await load('commands/live.js')
const { LiveView } = await load('tui/app.js')
const { openScreen } = await load('tui/screen.js')

const [contexts, rate, seconds, result] = process.argv.slice(2)
const PACKAGES = ['com.acme.orders', 'com.acme.orders.internal', 'org.example.persistence.query', 'java.util']

/** Scheduler statistics of the main thread, whose id is the process id. The first number is its time on a processor in ns. */
const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`)
const text = Buffer.alloc(80)
const mainNs = () => Number(text.toString('latin1', 0, readSync(schedstat, text, 0, 80, 0)).split(' ')[0])
const allNs = () =>
  readdirSync('/proc/self/task').reduce(
    (sum, thread) => sum + Number(readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    0,
  )

const ring = join(temporaryDirectory(), 'ring')
createRing(ring)
const recorder = await Recorder.start({ ring })
const begun = performance.now()
const threads = new Map(
  Array.from({ length: 8 }, (_, i) => [i + 1, { id: 30 + i, name: `http-${i + 1}`, virtual: false }]),
)
const calibration = { innerTicks: 20, outerTicks: 10 }
let pictures = 0
let pictureMs = 0

/** The parts of a session that the view uses. */
const session = {
  pid: process.pid,
  target: { command: 'com.acme.Main', version: '25' },
  scheme: 'b',
  rootNames: ['com.acme.Main.serve'],
  async snapshot(perThread) {
    const asked = performance.now()
    const nowTicks = undefined
    const snapshot = await recorder.snapshot({ calibration, nsPerTick: 1, nowTicks, threads, perThread })
    pictures++
    pictureMs += performance.now() - asked
    return snapshot
  },
  async status() {
    const stats = await recorder.stats()
    return {
      instrumentedMethods: stats.calledMethods,
      calledMethods: stats.calledMethods,
      events: stats.events,
      waitMs: 0,
      elapsedMs: performance.now() - begun,
      phase: 'recording',
      message: null,
      warnings: [],
      skipped: [],
    }
  },
  methodName: (id) => ({
    class: `${PACKAGES[id % PACKAGES.length]}.Thing${id % 997}`,
    method: `work${id}`,
    descriptor: '(Ljava/lang/String;I)V',
    loader: 'app',
  }),
  reset() {},
  ended: new Promise(() => {}),
}

// The feeder starts before the screen opens. The view then shows the growing tree.
const feeder = new Child(process.execPath, [join(import.meta.dirname, 'feeder.mjs'), ring, contexts, rate])
const phases = []
const screen = await openScreen()
const view = new LiveView(liveSource(session), screen)

/** Maximum duration of one turn of the event loop: wall-clock time and processor time. */
const block = { wallMs: 0, cpuMs: 0 }
let lastWall = performance.now()
let lastCpu = mainNs()
const watch = () => {
  const wall = performance.now()
  const cpu = mainNs()
  block.wallMs = Math.max(block.wallMs, wall - lastWall)
  block.cpuMs = Math.max(block.cpuMs, (cpu - lastCpu) / 1e6)
  lastWall = wall
  lastCpu = cpu
  setTimeout(watch, 2)
}

async function phase(name, keys, wait) {
  for (const key of keys) {
    process.stdin.emit('data', key)
    await sleep(200)
  }
  block.wallMs = block.cpuMs = 0
  pictures = pictureMs = 0
  const before = { wall: performance.now(), main: mainNs(), all: allNs() }
  await wait
  const spent = performance.now() - before.wall
  phases.push({
    name,
    rows: view.model.count,
    nodes: view.model.merged.count,
    pictures,
    pictureMs: pictureMs / Math.max(1, pictures),
    hz: (pictures * 1000) / spent,
    mainPercent: (mainNs() - before.main) / spent / 1e4,
    othersPercent: (allNs() - before.all - (mainNs() - before.main)) / spent / 1e4,
    mainMsAPicture: (mainNs() - before.main) / 1e6 / Math.max(1, pictures),
    blockWallMs: block.wallMs,
    blockCpuMs: block.cpuMs,
  })
}

const forAWhile = () => sleep(Number(seconds) * 1000)
try {
  void view.run()
  watch()
  await phase('while it grows', [], feeder.line(/^met/))
  // V8 compiles during this phase.
  await phase('settling', [], sleep(1500))
  await phase('hottest path open', [], forAWhile())
  await phase('all open, top', ['\x1b[H', '*'], forAWhile())
  await phase('all open, end', ['\x1b[F'], forAWhile())
  await phase('hot methods', ['m'], forAWhile())
} finally {
  view.quit()
  screen.destroy()
  await feeder.end('SIGKILL')
  rmSync(ring, { force: true })
}
writeFileSync(result, JSON.stringify(phases))
process.exit()
