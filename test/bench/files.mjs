// Time and memory for files: writing a profile, each export, a report, a comparison, and opening the file, with the commands that a user
// types. Trees are random and at most 60 deep. Peak memory is the memory of the whole process.

import { spawn, spawnSync } from 'node:child_process'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Child, cli, load, temporaryDirectory } from './support.mjs'

const SIZES = [100_000, 1_000_000]
const METHODS = 3000
const DEEPEST = 60
const TELL =
  'data:text/javascript,process.on("exit",()=>console.error("peak-kib",process.resourceUsage().maxRSS))'

export async function files() {
  const { formats } = await load('export/formats.js')
  const { writeProfile } = await load('profile/file.js')
  for (const contexts of SIZES) {
    const dir = temporaryDirectory()
    const file = join(dir, 'a.jfluid')
    const begun = performance.now()
    await writeProfile(profile(contexts), file)
    const writeMs = performance.now() - begun
    console.log(`\n${contexts} contexts of ${METHODS} methods`)
    console.log('                              s   peak MB     file MB')
    print('written', writeMs, undefined, statSync(file).size)
    await row('report', ['report', file])
    await row('compare, with another', ['compare', file, file])
    for (const { name, extension } of formats.filter(({ needsTrace }) => needsTrace !== true)) {
      const out = join(dir, `out${extension}`)
      await row(`export --format ${name}`, ['export', file, '--format', name, '--out', out], out)
    }
    const openMs = await firstPicture(file)
    if (openMs !== undefined) print('open, first picture', openMs)
  }
}

async function row(name, args, out) {
  const begun = performance.now()
  const client = new Child(process.execPath, ['--import', TELL, cli, ...args])
  const code = await client.exit
  if (code !== 0) throw new Error(`jfluid ${args.join(' ')} ended with ${code}\n${client.stderr}`)
  const kib = Number(/peak-kib (\d+)/.exec(client.stderr)?.[1])
  print(name, performance.now() - begun, (kib * 1024) / 1e6, out && statSync(out).size)
  if (out !== undefined) rmSync(out) // all files together would be gigabytes
}

function print(name, ms, megabytes, bytes) {
  const cells = [
    (ms / 1000).toFixed(2).padStart(8),
    (megabytes === undefined ? '' : megabytes.toFixed(0)).padStart(9),
    (bytes === undefined ? '' : (bytes / 1e6).toFixed(1)).padStart(11),
  ]
  console.log(`  ${name.padEnd(26)}${cells.join(' ')}`)
}

/** Returns the time in ms until a terminal shows the file's root. The view is ended then. */
async function firstPicture(file) {
  if (spawnSync('script', ['--version'], { stdio: 'ignore' }).status !== 0) return undefined
  const begun = performance.now()
  const line = `stty cols 120 rows 40; exec '${process.execPath}' '${cli}' open '${file}'`
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const end = () => child.kill('SIGKILL')
  process.on('exit', end)
  const late = setTimeout(end, 60_000)
  let text = ''
  let drawn
  child.stdout.setEncoding('utf8').on('data', (more) => {
    text += more
    if (drawn !== undefined || !text.includes('method1')) return
    drawn = performance.now() - begun
    child.stdin.write('q')
  })
  await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(late)
  process.off('exit', end)
  return drawn
}

function profile(contexts) {
  const tree = randomTree(contexts)
  const methodNames = Array.from({ length: METHODS + 1 }, (_, id) => ({
    class: `com.acme.service${id % 7}.Large`,
    method: `method${id}`,
    descriptor: '(I)V',
    loader: 'app',
  }))
  return {
    target: { pid: 1, jdk: '25', vm: 'vm', mainClass: 'com.acme.Large' },
    mode: 'exact',
    scheme: 'b',
    roots: ['com.acme.service1.Large.method1'],
    startedAt: '2026-11-23T05:00:00.000Z',
    durationMs: 1000,
    calibration: { innerNs: 1, outerNs: 1, clock: 'nanoTime' },
    instrumentation: {
      ...{ instrumentedMethods: METHODS, calledMethods: METHODS, redefinitions: 1, redefinedClasses: 7 },
      ...{ hotSwapMs: 1, analysisMs: 1, skipped: [], gaps: 0, healed: 0 },
    },
    warmupMs: 0,
    truncated: false,
    warnings: [],
    events: { count: 2e6, waitMs: 0 },
    methodNames,
    merged: tree,
    threads: [{ id: 1, name: 'main', tree }],
  }
}

let seed = 20031
const random = (below) => {
  seed ^= seed << 13
  seed ^= seed >>> 17
  seed ^= seed << 5
  return (seed >>> 0) % below
}

/** Returns the tree of a random walk: each step goes one level down, or some levels up and one down. Siblings are different methods. */
function randomTree(count) {
  const parent = new Int32Array(count).fill(-1)
  const method = new Int32Array(count).fill(1)
  const size = new Int32Array(count).fill(1)
  const path = [0]
  const used = [new Set()]
  for (let node = 1; node < count; node++) {
    while (
      path.length > 1 &&
      (path.length >= DEEPEST || used.at(-1).size >= METHODS - 1 || random(100) < 45)
    ) {
      path.pop()
      used.pop()
    }
    const siblings = used.at(-1)
    let id = 1 + random(METHODS)
    while (siblings.has(id)) id = (id % METHODS) + 1
    siblings.add(id)
    method[node] = id
    parent[node] = path.at(-1)
    path.push(node)
    used.push(new Set())
  }
  const calls = Float64Array.from({ length: count }, () => 1 + random(1000))
  const selfNs = Float64Array.from({ length: count }, () => random(1_000_000))
  const totalNs = selfNs.slice()
  for (let node = count - 1; node > 0; node--) {
    size[parent[node]] += size[node]
    totalNs[parent[node]] += totalNs[node]
  }
  const zeros = new Float64Array(count)
  const measuredNs = selfNs.map((ns, node) => ns + calls[node])
  const metrics = { calls, selfNs, totalNs, measuredNs, warmupCalls: zeros, warmupSelfNs: zeros }
  return { count, method, parent, size, metrics }
}
