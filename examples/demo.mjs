// npm run demo: builds what is missing, starts the shop, attaches to it and shows where its time goes.
//
// With a terminal it is the live view (q leaves); without one it records for a few seconds, prints the
// report and ends with 0.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { prepare } from '../test/support/prepare.mjs'

const here = dirname(fileURLToPath(import.meta.url))
prepare()
const { findJdk, javaSources } = await import('../backend-java/jdk.mjs')

const ROOT = 'shop.OrderService.process'
const cli = join(here, '..', 'dist', 'cli.js')
const work = mkdtempSync(join(tmpdir(), 'jfluid-demo-'))
let shop
let client

function jfluid(...args) {
  return new Promise((resolve) => {
    client = spawn(process.execPath, [cli, ...args], { stdio: 'inherit' }).on('exit', (code, signal) =>
      resolve(code ?? (signal === null ? 1 : 130)),
    )
  })
}

async function main() {
  const jdk = findJdk()
  if (jdk === null) {
    console.error('jfluid: the demo needs a JDK 17 or newer; set JAVA_HOME')
    return 72
  }
  console.error('compiling and starting the shop …')
  const sources = javaSources(join(here, '01-shop'))
  await new Promise((resolve, reject) => {
    spawn(jdk.javac, ['-d', work, ...sources], { stdio: ['ignore', 2, 2] }).on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error('the shop did not compile')),
    )
  })
  shop = spawn(jdk.java, ['-cp', work, 'shop.Main'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise((_, reject) => {
    shop.once('exit', (code) => reject(new Error(`the shop ended with ${code}`)))
  })
  const ready = new Promise((resolve) => {
    createInterface({ input: shop.stdout }).on('line', (line) => /ready/.test(line) && resolve())
  })
  await Promise.race([ready, ended])
  ended.catch(() => {}) // later it ends because we end it

  const pid = String(shop.pid)
  if (process.stdout.isTTY && process.stdin.isTTY && process.env.TERM !== 'dumb') {
    console.error(`jfluid attach ${pid} --root ${ROOT}`)
    return await jfluid('attach', pid, '--root', ROOT)
  }
  const file = join(work, 'demo.jfluid')
  const code = await jfluid('record', pid, '--root', ROOT, '--duration', '5s', '--out', file)
  return code === 0 ? await jfluid('report', file) : code
}

// Ctrl-C goes to the live view, which leaves properly; we stay to end the shop after it.
process.on('SIGINT', () => {})
// The client leaves properly, and the shop ends with us; before there is one, the shop's end is ours.
for (const signal of ['SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (client !== undefined) client.kill(signal)
    else shop?.kill('SIGTERM')
  })
}
try {
  process.exitCode = await main()
} catch (error) {
  console.error(`jfluid: ${error.message}`)
  process.exitCode = 1
} finally {
  shop?.kill('SIGTERM')
  rmSync(work, { recursive: true, force: true })
}
