// --region: executions of code regions, compared with a debugger that steps through the program (test/oracle/LineTrace.java), and their
// times, compared with programs that measure themselves.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { stepThrough } from '../oracle/stepping.ts'
import { seeded } from '../profile/trees.ts'
import { STATUS } from '../support/exit-codes.ts'
import { ask, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { jdks, newest, newestOrAll, oldest } from '../support/jdks.ts'
import { type JsonRegion, jfluid, readProfileJson, startJfluid, startRecording } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'

interface Place {
  /** Name and descriptor, e.g. "fix.Blocks.loops(I)J". */
  readonly method: string
  /** Range of lines. Undefined if the place is the whole method. */
  readonly lines?: readonly [from: number, to: number]
}

const textOf = ({ method, lines }: Place): string =>
  lines === undefined ? method : `${method}:${lines[0]}-${lines[1]}`

/** The output of LineTrace. */
class Trace {
  readonly #rows: readonly string[]
  /** Executed lines, keyed by method. */
  readonly lines = new Map<string, Set<number>>()

  constructor(rows: readonly string[]) {
    this.#rows = rows
    this.#walk({
      begin: (method) => this.lines.set(method, this.lines.get(method) ?? new Set()),
      at: (method, line) => this.lines.get(method)!.add(line),
      end: () => {},
    })
  }

  /** Calls the functions of `told` for each activation of a method. `state` belongs to one activation. */
  #walk(told: {
    begin(method: string, state: { inside: boolean }): void
    at(method: string, line: number, state: { inside: boolean }): void
    end(method: string, state: { inside: boolean }): void
  }): void {
    const stack: { depth: number; method: string; state: { inside: boolean } }[] = []
    const popTo = (depth: number) => {
      while (stack.length > 0 && stack.at(-1)!.depth > depth) {
        const { method, state } = stack.pop()!
        told.end(method, state)
      }
    }
    for (const row of this.#rows) {
      const begins = row.startsWith('> ')
      const [depth, rest] = (begins ? row.slice(2) : row).split(' ') as [string, string]
      popTo(begins ? Number(depth) - 1 : Number(depth))
      if (begins) {
        stack.push({ depth: Number(depth), method: rest, state: { inside: false } })
        told.begin(rest, stack.at(-1)!.state)
      } else {
        const top = stack.at(-1)!
        told.at(top.method, Number(rest), top.state)
      }
    }
    popTo(0)
  }

  /** Returns how often execution enters a place from outside the place. */
  executions({ method: wanted, lines }: Place): number {
    let count = 0
    this.#walk({
      begin: (method) => {
        if (method === wanted && lines === undefined) count++
      },
      at: (method, line, state) => {
        if (method !== wanted || lines === undefined) return
        const inside = line >= lines[0] && line <= lines[1]
        if (inside && !state.inside) count++
        state.inside = inside
      },
      end: () => {},
    })
    return count
  }
}

/** Returns each whole method and some random line ranges of it. */
function placesIn(trace: Trace, seed: number): Place[] {
  const random = seeded(seed)
  const places: Place[] = []
  for (const [method, set] of trace.lines) {
    if (!/^fix\.Blocks(\$\w+)?\./.test(method) || method.includes('.main(')) continue
    // The call this(…) in this constructor throws at a point where no exception handler is allowed, so the execution is not counted.
    if (method === 'fix.Blocks.<init>(I)V') continue
    const lines = [...set].sort((a, b) => a - b)
    const any = () => lines[Math.floor(random() * lines.length)]!
    places.push({ method })
    for (let i = 0; i < Math.min(4, lines.length); i++) {
      const [a, b] = [any(), any()]
      places.push({ method, lines: [Math.min(a, b), Math.max(a, b)] })
    }
  }
  return places
}

async function tracedBlocks(): Promise<{ classes: string; trace: Trace }> {
  const classes = await compileFixture(oldest, 'Blocks')
  const lines = await stepThrough('LineTrace', newest, classes, 'fix.Blocks run 2', 'fix.Blocks*')
  return { classes, trace: new Trace(lines) }
}

describe('executions of regions', () => {
  let classes: string
  let trace: Trace
  beforeAll(async () => {
    ;({ classes, trace } = await tracedBlocks())
  }, 60_000)

  it.each(jdks.map((jdk) => [jdk.version, jdk] as const))(
    'regions are counted as a debugger counts them, including exceptions and recursion, on JDK %i',
    async (_, jdk) => {
      const seed = Number(process.env.REGION_SEED ?? Date.now() % 1e9)
      const places = placesIn(trace, seed)
      expect(places.length).toBeGreaterThan(60)
      const file = join(temporaryDirectory('jfluid-regions-'), 'p.jfluid')
      const flags = [...new Set(places.map(textOf))].flatMap((text) => ['--region', text])
      const program = [jdk.java, '-cp', classes, 'fix.Blocks', 'run', '2']
      const ran = await jfluid('run', '--record', file, ...flags, '--', ...program)
      expect(ran.code, ran.stderr).toBe(0)
      const { regions, instrumentation } = await readProfileJson(file)
      expect(instrumentation).toMatchObject({ gaps: 0, skipped: [] })
      const counted = new Map(regions!.map((it) => [it.region, it.count]))
      const expected = new Map(places.map((place) => [textOf(place), trace.executions(place)]))
      expect(Object.fromEntries(counted), `seed ${seed}`).toEqual(Object.fromEntries(expected))
    },
  )
})

/** Returns the first and last line of a fixture that contain the text. */
function linesWith(fixture: string, text: string): [from: number, to: number] {
  const source = readFileSync(join(import.meta.dirname, '../fixtures', fixture), 'utf8').split('\n')
  const found = source.flatMap((line, i) => (line.includes(text) ? [i + 1] : []))
  return [found[0]!, found.at(-1)!]
}

const NAP = linesWith('Regions.java', '// nap')
const ROUND = linesWith('Regions.java', '// a round')

describe.each(newestOrAll)('regions on JDK $version', (jdk) => {
  let classes: string
  let java: JavaProcess
  const tell = async (command: string): Promise<number[]> => {
    const line = await ask(java, command, /^done/)
    return line.split(' ').slice(1).map(Number)
  }
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Regions')
    java = startJava(jdk, ['-cp', classes, 'fix.Regions'])
    await java.line(/ready/)
  })

  itInFull(
    'an execution of a region that lasts across two sessions is counted in neither session',
    async () => {
      const flags = ['held', `held:${ROUND[0]}`, 'tick'].flatMap((it) => ['--region', `fix.Regions.${it}`])
      const first = startRecording(java.pid, ...flags)
      await first.started
      await tell('hold')
      await tell('rounds 3')
      await tell('short 1')
      const [held, round] = (await first.stop()).regions!
      expect(held!.count).toBe(0)
      expect(round!.count).toBeGreaterThan(0)

      // The thread still runs the code of the first session.
      const second = startRecording(java.pid, ...flags)
      await second.started
      await tell('rounds 3')
      await tell('release')
      await tell('short 2')
      const { regions, instrumentation } = await second.stop()
      expect(regions!.map(({ count }) => count)).toEqual([0, 0, 2])
      expect(instrumentation).toMatchObject({ gaps: 0, skipped: [] })
      expect(java.stderr()).not.toMatch(/stack overflow/)
    },
  )

  it('attach counts and times regions in all kinds of threads', async () => {
    await tell('hold')
    const methods = ['spin', 'tick', `nap:${NAP[0]}-${NAP[1]}`, 'held', 'thrower', 'fib', `nap:${NAP[1]}`]
    const flags = methods.flatMap((it) => ['--region', `fix.Regions.${it}`])
    const recording = startRecording(java.pid, ...flags)
    await recording.started
    const [inside, around] = (await tell('spin 200 500')) as [number, number]
    await tell('threads 6 50000')
    await tell('short 1200')
    await tell('throws 300')
    const [fibs] = await tell('fib 15')
    if (jdk.version >= 21) await tell('virtual 200 20')
    await tell('release')
    const { regions, instrumentation, methods: called, merged } = await recording.stop()
    expect(instrumentation).toMatchObject({ gaps: 0, skipped: [], instrumentedMethods: 6 })
    expect([called, merged]).toEqual([[], []])
    const [spin, tick, nap, held, thrower, fib, naps] = regions as JsonRegion[]

    const virtual = jdk.version >= 21 ? 200 * 20 : 0
    const counts = [200, 6 * 50_000 + 1200, virtual, 0, 300, fibs, virtual]
    expect(regions!.map((it) => it.count)).toEqual(counts)
    // `held` was entered before the attach, so it is not counted.
    expect(held).toMatchObject({ count: 0, firstMs: null, lastNs: [] })
    // The program measures the time inside and around the region. The region's time is between these two values.
    expect(spin!.totalNs).toBeGreaterThan(inside * 0.999)
    expect(spin!.totalNs).toBeLessThan(around * 1.001)
    expect(spin!.minNs).toBeGreaterThan(500_000 * 0.999)
    expect(tick!.percentilesNs['50']).toBeLessThan(10_000)
    // The outermost call includes all other calls.
    expect(fib!.maxNs).toBeGreaterThan(fib!.percentilesNs['50']! * 10)
    expect(thrower!.lines).toBeNull()
    if (virtual > 0) {
      expect(nap).toMatchObject({ method: 'nap', lines: { from: NAP[0], to: NAP[1] } })
      expect(nap!.minNs).toBeGreaterThan(200_000 * 0.999)
      expect(naps!.percentilesNs['50']).toBeLessThan(nap!.minNs)
    }
    for (const region of regions!) isConsistent(region)

    // The original code of the region is restored, and the region can be timed again.
    const again = startRecording(java.pid, '--region', 'fix.Regions.tick')
    await again.started
    await tell('threads 2 1000')
    expect((await again.stop()).regions!.map((it) => it.count)).toEqual([2000])
    await tell('throws 3')
  }, 60_000)
})

/** Expects that different figures about the same region agree. */
function isConsistent(region: JsonRegion): void {
  const { count, buckets, intervals, lastNs, percentilesNs, minNs, meanNs, maxNs, totalNs } = region
  const sum = (numbers: number[]) => numbers.reduce((all, it) => all + it, 0)
  expect(sum(buckets.map((it) => it.count))).toBe(count)
  expect(sum(intervals.map((it) => it.count))).toBe(count)
  expect(lastNs).toHaveLength(Math.min(count, 1024))
  if (count === 0) return
  const rising = [minNs, ...Object.values(percentilesNs), maxNs]
  // JSON keys that look like integers come first, so the values are sorted here.
  const sorted = [...rising].sort((a, b) => a - b)
  expect(sorted[0]).toBe(minNs)
  expect(sorted.at(-1)).toBe(maxNs)
  expect(meanNs).toBeCloseTo(totalNs / count, 3)
  expect(Math.max(...intervals.map((it) => it.maxNs))).toBeCloseTo(maxNs, 3)
  for (const it of lastNs) {
    expect(it).toBeGreaterThanOrEqual(minNs)
    expect(it).toBeLessThanOrEqual(maxNs)
  }
}

describe('regions of one program', () => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(newest, ['-cp', await compileFixture(newest, 'Regions'), 'fix.Regions'])
    await java.line(/ready/)
  })

  itInFull(
    'a region without matching lines is refused; a valid region is reported, and an export as a tree is refused',
    async () => {
      const out = join(temporaryDirectory('jfluid-regions-'), 'p.jfluid')
      const record = (...flags: string[]) =>
        jfluid('record', String(java.pid), '--duration', '100ms', '--out', out, ...flags)
      const wrong = await record('--region', 'Regions.tick', '--region', `Regions.spin:${NAP[0]}`)
      const said = expect.stringContaining(`no code at line ${NAP[0]} of fix.Regions.spin`)
      expect([wrong.code, wrong.stderr]).toEqual([67, said])
      expect(wrong.stderr).toContain('fix.Regions.spin has lines ')
      const right = await record('--region', 'Regions.spin')
      expect([right.code, right.stderr]).toEqual([
        STATUS.rootNeverCalled,
        expect.stringContaining('warning: no region was executed'),
      ])
      expect((await jfluid('report', out)).stdout).toContain('Gross time of regions')
      const { code, stderr } = await jfluid('export', out, '--format', 'collapsed')
      expect([code, stderr]).toEqual([64, expect.stringContaining('no tree')])
    },
  )

  itInFull('a region in a method that the agent itself calls is refused', async () => {
    const out = join(temporaryDirectory('jfluid-regions-'), 'p.jfluid')
    for (const [option, method] of [
      ['--region', 'java.lang.Thread.getName'],
      ['--root', 'java.lang.ref.WeakReference.<init>'],
    ] as const) {
      const { code, stderr } = await jfluid('record', String(java.pid), option, method, '--out', out)
      expect([code, stderr]).toEqual([79, expect.stringMatching(/the probes use it|probes use it/)])
    }
  })

  itInFull(
    'the live view of a region shows rising counts and a histogram on a terminal of 80 × 24 cells, and q prints the report',
    async () => {
      const terminal = Terminal.jfluid(['attach', String(java.pid), '--region', 'fix.Regions.tick'])
      await terminal.until((lines) => lines.some((line) => line.includes('has not been executed yet')))
      java.send('threads 2 5000')
      await terminal.until(
        (lines) =>
          lines.some((line) => /^ {2}10,000 .* fix\.Regions\.tick$/.test(line)) &&
          /[█▏]/.test(lines.join('\n')),
      )
      expect(Math.max(...terminal.screen().map((line) => [...line].length))).toBeLessThanOrEqual(80)
      terminal.send('q')
      const { code } = await terminal.exit
      expect(code).toBe(0)
      expect([...terminal.scrollback(), ...terminal.screen()].join('\n')).toContain('Gross time of regions')
    },
  )
})

itInFull(
  'a region in a class without line numbers is refused, or reported if the class is loaded later',
  async () => {
    const classes = await compileFixture(newest, 'Regions', ['-g:none'])
    const java = startJava(newest, ['-cp', classes, 'fix.Regions'])
    await java.line(/ready/)
    const out = join(temporaryDirectory('jfluid-regions-'), 'p.jfluid')
    const refused = await jfluid('record', String(java.pid), '--region', 'Regions.spin:40-50', '--out', out)
    const said = expect.stringMatching(/was compiled without (?:line numbers|them)/)
    expect([refused.code, refused.stderr]).toEqual([79, said])
    const program = [newest.java, '-cp', classes, 'fix.Regions']
    const run = startJfluid('run', '--region', 'Regions.main:3', '--record', out, '--', ...program)
    run.send('quit')
    const { code } = await run.exit
    expect([code, run.stderr()]).toEqual([STATUS.rootWithoutCode, said])
  },
)
