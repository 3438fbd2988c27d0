// Writes docs/live-view.svg, the picture in README.md: the screen of `npm run demo` after some seconds, with its colours.
//
//   npm run screen

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import headless from '@xterm/headless'
import { screenSvg } from './screen-svg.mjs'

const COLUMNS = 100
const ROWS = 26
/** Time that the live view must have recorded. By then the JVM has compiled the methods with probes. */
const RECORDED_SECONDS = 25
const TIMEOUT_MS = 180_000
const QUIT = 'q'

const checkout = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const picture = join(checkout, 'docs', 'live-view.svg')

const terminal = new headless.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true })
const env = {
  ...process.env,
  TERM: 'xterm-256color',
  COLORTERM: 'truecolor',
  SHELL: '/bin/sh',
  LC_ALL: 'C.UTF-8',
}
delete env.NO_COLOR
const demo = spawn('script', ['-qefc', `stty rows ${ROWS} cols ${COLUMNS}; npm run -s demo`, '/dev/null'], {
  cwd: checkout,
  env,
  stdio: ['pipe', 'pipe', 'inherit'],
})
demo.stdout.setEncoding('utf8')

let svg
const timeout = setTimeout(() => demo.kill('SIGTERM'), TIMEOUT_MS)
demo.stdout.on('data', (text) => terminal.write(text, look))

function look() {
  if (svg !== undefined) return
  const first = terminal.buffer.active.getLine(terminal.buffer.active.baseY)?.translateToString(true) ?? ''
  const seconds = Number(/recording (\d+\.\d) s/.exec(first)?.[1] ?? 0)
  if (seconds < RECORDED_SECONDS) return
  svg = screenSvg(terminal)
  demo.stdin.write(QUIT)
}

demo.on('exit', (code) => {
  clearTimeout(timeout)
  if (svg === undefined) {
    console.error(
      `jfluid: the demo ended with ${code} before it had recorded ${RECORDED_SECONDS} s; run npm run demo`,
    )
    process.exitCode = 1
    return
  }
  writeFileSync(picture, svg)
  console.log(`wrote ${picture}`)
})
