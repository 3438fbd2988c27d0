// Time to find out what to profile: listing the JVMs, estimating the effects of an attach, finding possible roots, and changing the root
// during a session. Uses the shop of examples/01-shop. Every command includes the start of Node.js.

import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Child, cli, compile, javaFiles, load, project, sleep, spread, startSession } from './support.mjs'

const ROOT = 'shop.OrderService.process'
const OTHER = 'shop.Pricing.price'
const ROUNDS = 5
const WARM_UP_DURATION_MS = 1500

export async function finding(jdks) {
  for (const jdk of jdks) await onJdk(jdk)
}

async function onJdk(jdk) {
  const classes = await compile(jdk, javaFiles(join(project, 'examples/01-shop')))
  const shop = new Child(jdk.java, [`-Djava.io.tmpdir=${classes}`, '-cp', classes, 'shop.Main'])
  try {
    await shop.line(/ready/)
    await sleep(WARM_UP_DURATION_MS)
    console.log(`\n${jdk.name}: ms; min, median, max of ${ROUNDS}`)
    const pid = String(shop.pid)
    await row('jfluid --version', () => command('--version'))
    await row('jfluid ps', () => command('ps'))
    await row('picker: JVMs are shown', () => shown(['attach'], /shop\.Main/))
    await row('doctor', () => command('doctor', pid))
    await row('doctor --root', () => command('doctor', pid, '--root', ROOT))
    await row('why (5 s of them sampling)', () => command('why', pid))
    await row('attach without --root: JVM is sampled', () => shown(['attach', pid], /%/))
    await changes(shop.pid)
  } finally {
    await shop.end()
  }
}

async function row(name, measure) {
  const times = []
  for (let round = 0; round < ROUNDS; round++) times.push(await measure())
  console.log(`  ${name.padEnd(38)} ${spread(times, 0, 6)}`)
}

async function command(...args) {
  const begun = performance.now()
  const client = new Child(process.execPath, [cli, ...args])
  const code = await client.exit
  if (code !== 0) throw new Error(`jfluid ${args.join(' ')} ended with ${code}\n${client.stderr}`)
  return performance.now() - begun
}

/** Returns the time until a terminal shows the pattern, and then sends Ctrl-C. */
async function shown(args, pattern) {
  if (spawnSync('script', ['--version'], { stdio: 'ignore' }).status !== 0)
    throw new Error('there is no script(1) here')
  const begun = performance.now()
  const line = `stty cols 120 rows 40; exec '${process.execPath}' '${cli}' ${args.join(' ')}`
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm-256color', CI: 'false' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const end = () => child.kill('SIGKILL')
  process.on('exit', end)
  const exit = new Promise((resolve) => child.on('close', resolve))
  let text = ''
  let drawn
  const late = setTimeout(end, 20_000)
  child.stdout.setEncoding('utf8').on('data', (more) => {
    text += more
    if (drawn !== undefined || !pattern.test(text)) return
    drawn = performance.now() - begun
    child.stdin.write('\x03')
  })
  await exit
  clearTimeout(late)
  process.off('exit', end)
  if (drawn === undefined) throw new Error(`${pattern} was not shown within 20 s`)
  return drawn
}

/** Changes from one root to another and back, each time until the profile contains a call of the root. */
async function changes(pid) {
  const { parseRoot } = await load('reveal/patterns.js')
  const session = await startSession(pid, ROOT)
  try {
    const times = { change: [], first: [] }
    for (let round = 0; round < ROUNDS * 2; round++) {
      const begun = performance.now()
      await session.changeRoots([parseRoot(round % 2 === 0 ? OTHER : ROOT)])
      times.change.push(performance.now() - begun)
      while ((await session.snapshot(false)).merged.count < 1) await sleep(5)
      times.first.push(performance.now() - begun)
    }
    console.log(`  ${'another root: it records'.padEnd(38)} ${spread(times.change, 0, 6)}`)
    console.log(`  ${'another root: first call in the tree'.padEnd(38)} ${spread(times.first, 0, 6)}`)
  } finally {
    await session.detach()
    await session.close()
  }
}
