// Waiting times of a user: from the start of the command to the agent, to the recording, and to the first tree of the shop
// (examples/01-shop), and the duration of a detach. Every figure includes the start of Node.js.
//
// Cold is the first attach of a JVM, and warm is any later attach. The live view runs under script(1), if the machine has it. Its figure is
// the time from the start of the command to the first row below the root.

import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import {
  Child,
  cli,
  compile,
  javaFiles,
  median,
  project,
  sleep,
  spread,
  temporaryDirectory,
  verdict,
} from './support.mjs'

const ROOT = 'shop.OrderService.process'
const JVMS = 3
const SETTLE_MS = 1500
const GOAL_MS = 1000
const DETACH_GOAL_MS = 300

export async function attach(jdks) {
  for (const jdk of jdks) await onJdk(jdk)
}

async function onJdk(jdk) {
  const classes = await compile(jdk, javaFiles(join(project, 'examples/01-shop')))
  const cold = new Figures()
  const warm = new Figures()
  const startShop = async () => {
    // The shop's journal is written to a directory that is removed even after an interrupt.
    const shop = new Child(jdk.java, [`-Djava.io.tmpdir=${classes}`, '-cp', classes, 'shop.Main'])
    await shop.line(/ready/)
    await sleep(SETTLE_MS)
    return shop
  }
  for (let i = 0; i < JVMS; i++) {
    const shop = await startShop()
    try {
      cold.add(await once(shop.pid))
      warm.add(await once(shop.pid))
      warm.note('live view: first tree drawn', await liveView(shop.pid))
      warm.note('record --duration 100ms, all of it', await record(shop.pid))
    } finally {
      await shop.end()
    }
    const fresh = await startShop()
    try {
      cold.note('live view: first tree drawn', await liveView(fresh.pid))
      warm.add(await once(fresh.pid))
    } finally {
      await fresh.end()
    }
  }
  console.log(`\n${jdk.name}: ms since the command was started; min, median, max`)
  cold.print('cold')
  warm.print('warm')
}

class Figures {
  #rows = new Map()

  note(name, value) {
    if (value === undefined) return
    this.#rows.set(name, [...(this.#rows.get(name) ?? []), value])
  }

  add(one) {
    this.note('agent connected', one.connected)
    this.note('recording', one.recording)
    this.note('first snapshot below the root', one.tree)
    this.note('detach, as the client sees it', one.detachMs)
    this.note('detach, as the agent tells it', one.agentMs)
  }

  print(title) {
    for (const [name, values] of this.#rows) {
      let goal = ''
      if (/^first|^live/.test(name)) goal = `   ${verdict(median(values) <= GOAL_MS, `<= ${GOAL_MS} ms`)}`
      if (/client/.test(name))
        goal = `   ${verdict(median(values) <= DETACH_GOAL_MS, `<= ${DETACH_GOAL_MS} ms`)}`
      console.log(`  ${title} ${name.padEnd(36)} ${spread(values, 0, 6)}   n=${values.length}${goal}`)
    }
  }
}

async function once(pid) {
  const begun = Date.now()
  const client = new Child(process.execPath, [
    join(import.meta.dirname, 'attach-once.mjs'),
    String(pid),
    ROOT,
  ])
  const told = JSON.parse(await client.line(/^\{/))
  await client.exit
  for (const key of ['connected', 'recording', 'tree']) if (told[key] !== undefined) told[key] -= begun
  if (told.tree === undefined) console.log(`  NOTE: no call below the root within 10 s (${told.nodes} nodes)`)
  return told
}

async function record(pid) {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const begun = performance.now()
  const client = new Child(process.execPath, [
    cli,
    'record',
    String(pid),
    '--root',
    ROOT,
    '--duration',
    '100ms',
    '--out',
    out,
  ])
  const code = await client.exit
  if (code !== 0) throw new Error(`jfluid record ended with ${code}\n${client.stderr}`)
  return performance.now() - begun
}

const hasScript = spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0

/** Returns the time in ms until the live view has drawn a method that the root calls. */
async function liveView(pid) {
  if (!hasScript) return undefined
  const begun = performance.now()
  const command = `stty cols 120 rows 40; exec '${process.execPath}' '${cli}' attach ${pid} --root ${ROOT}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const end = () => child.kill('SIGKILL')
  process.on('exit', end)
  const exit = new Promise((resolve) => child.on('close', resolve))
  let text = ''
  let drawn
  const late = setTimeout(() => child.stdin.write('q'), 10_000)
  child.stdout.setEncoding('utf8').on('data', (more) => {
    text += more
    // Matches any callee of the root in the tree.
    if (drawn === undefined && /Service\.expand|Pricing\.price|Warehouse\.reserve/.test(text)) {
      drawn = performance.now() - begun
      child.stdin.write('q')
    }
  })
  await exit
  clearTimeout(late)
  process.off('exit', end)
  if (drawn === undefined) console.log('  NOTE: the live view drew no call below the root within 10 s')
  return drawn
}
