// Cost of the real live view, in a terminal of 200x50 created by script(1), with a recorder whose events come from a synthetic program
// (program.mjs).
//
// Measures the processor time of the UI thread for all its work: requests, names, drawing, garbage collection. The view draws eight times a
// second. The share at ten is computed from the time per snapshot, if there are enough snapshots. A block is the longest turn of the UI
// thread's event loop, in wall-clock time and in processor time. Wall-clock time includes waiting for a processor.

import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory, verdict } from './support.mjs'

/** Contexts, and M events per second. */
const CASES = [
  { contexts: 100_000, rate: 2 },
  { contexts: 1_000_000, rate: 2 },
]
const SECONDS = 4
const SHARE_GOAL = 25
const BLOCK_GOAL_MS = 50

export async function view() {
  if (spawnSync('script', ['--version'], { stdio: 'ignore' }).status !== 0) {
    console.log('  there is no script(1) here')
    return
  }
  for (const { contexts, rate } of CASES) {
    console.log(`\n${contexts} contexts, ${rate} M events a second`)
    console.log(
      '  view                     rows   pictures/s  ms each  UI thread %   at 10 Hz %   recorder %  block, ms CPU  wall',
    )
    const phases = await once(contexts, rate)
    for (const it of phases) {
      if (it.name === 'settling') continue
      const columns = [
        String(it.rows).padStart(8),
        it.hz.toFixed(1).padStart(12),
        it.pictureMs.toFixed(0).padStart(8),
        it.mainPercent.toFixed(1).padStart(12),
        (it.hz < 4 ? '-' : it.mainMsAPicture.toFixed(1)).padStart(12),
        it.othersPercent.toFixed(1).padStart(12),
        it.blockCpuMs.toFixed(1).padStart(14),
        it.blockWallMs.toFixed(1).padStart(5),
      ]
      console.log(`  ${it.name.padEnd(18)} ${columns.join(' ')}`)
    }
    const tree = phases.filter((it) => /open/.test(it.name))
    if (contexts === 100_000) {
      const share = Math.max(...tree.map((it) => it.mainMsAPicture))
      console.log(`  UI thread at 10 Hz: ${verdict(share <= SHARE_GOAL, `<= ${SHARE_GOAL} % of a core`)}`)
    }
    const block = Math.max(...phases.map((it) => it.blockCpuMs))
    console.log(
      `  longest block, of the processor: ${verdict(block <= BLOCK_GOAL_MS, `<= ${BLOCK_GOAL_MS} ms`)}`,
    )
  }
}

async function once(contexts, rate) {
  const result = join(temporaryDirectory(), 'view.json')
  const args = [join(import.meta.dirname, 'view-once.mjs'), contexts, rate, SECONDS, result]
  const command = `stty cols 200 rows 50; exec '${process.execPath}' ${args.join(' ')}`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown = (shown + text).slice(-4000)
  })
  const end = () => child.kill('SIGKILL')
  process.on('exit', end)
  const code = await new Promise((resolve) => child.on('close', resolve))
  process.off('exit', end)
  if (code !== 0) throw new Error(`the view ended with ${code}\n${shown}`)
  return JSON.parse(readFileSync(result, 'utf8'))
}
