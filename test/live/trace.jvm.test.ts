// Root calls whose events `--trace` keeps. The program prints the order of its calls for comparison.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, newestOrAll } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, jfluid, startRecording } from '../support/jfluid.ts'

interface Traced extends JsonProfile {
  readonly trace: {
    readonly methods: readonly string[]
    readonly calls: readonly {
      readonly state: string
      readonly startNs: number
      readonly durationNs: number
      readonly criticalPath: readonly {
        readonly track: number
        readonly fromNs: number
        readonly toNs: number
        readonly queuedNs: number
        readonly methods: readonly { readonly method: string; readonly totalNs: number }[]
      }[]
      readonly tracks: readonly {
        readonly name: string
        readonly events: readonly number[]
        readonly times: readonly number[]
      }[]
    }[]
  }
}

async function start(jdk: Jdk): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ordered'), 'fix.Ordered'])
  await java.line(/^ready/)
  return java
}

/** Returns the events of a traced call in the format in which the program prints them: "order> a> b> b< a< order<". */
function told({ trace }: Traced, call: number, track = 0): string {
  const open: string[] = []
  return trace.calls[call]!.tracks[track]!.events.filter((event) => event >= 0)
    .map((event) => {
      if (event === 0) return `${open.pop()}<`
      open.push(trace.methods[event - 1]!.replace(/^.*\.(?:lambda\$)?/, ''))
      return `${open.at(-1)}>`
    })
    .join(' ')
}

/** Returns the total time of all calls of a method. */
function totalOf(roots: readonly JsonNode[], method: string): number {
  return roots.reduce(
    (sum, it) => sum + (it.method === method ? it.totalNs : totalOf(it.children, method)),
    0,
  )
}

describe.each(newestOrAll)('traced calls on JDK $version', (jdk) => {
  it('--trace keeps the first calls completely and in order', async () => {
    const java = await start(jdk)
    const recording = startRecording(java.pid, '--root', 'fix.Ordered.order', '--trace', '3')
    await recording.started
    const said: string[] = []
    for (const seed of [1, 22, 333, 4444]) {
      java.send(`order ${seed}`)
      said.push(String(await java.line(new RegExp(`^order ${seed}:`))))
    }
    const profile = (await recording.stop()) as Traced
    const { calls } = profile.trace
    expect(calls.map((it) => it.state)).toEqual(['whole', 'whole', 'whole'])
    for (const [i, call] of calls.entries()) {
      // An exception leaves `fails`, which prints its end before it throws. Constructors of exceptions print nothing.
      const found = told(profile, i).replaceAll(/ <init>[><]/g, '')
      expect(`order ${[1, 22, 333][i]}: ${found}`).toBe(said[i])
      const { times } = call.tracks[0]!
      expect(times.every((time, at) => at === 0 || time >= times[at - 1]!)).toBe(true)
      expect(call.durationNs).toBe(times.at(-1))
    }
    expect(calls[1]!.startNs).toBeGreaterThanOrEqual(calls[0]!.startNs + calls[0]!.durationNs)
  })

  it('a traced call has the same time as in the tree, and its critical path includes the task that the call waited for', async () => {
    const java = await start(jdk)
    const options = ['--root', 'fix.Ordered.hand', '--trace', '5', '--follow-threads', '--mode', 'locks']
    const recording = startRecording(java.pid, ...options)
    await recording.started
    // All first calls happen here. While a thread waits for the client, its clock stands still, but the clocks of other threads do not.
    java.send('hand 1')
    await java.line(/^hand /)
    java.send('hand 30')
    const busyNs = Number(/^hand (\d+)/.exec(String(await java.line(/^hand /, 2)))?.[1])
    const profile = (await recording.stop()) as Traced
    const { calls } = profile.trace
    expect(calls.map((it) => it.state)).toEqual(['whole', 'whole'])
    const [first, call] = calls
    expect(call!.tracks).toHaveLength(3)
    expect(told(profile, 1, 1)).toMatch(/^hand\$\d> job> spin> spin< job< hand\$\d<$/)
    expect(told(profile, 1, 2)).toMatch(/^hand\$\d> other> other< hand\$\d<$/)

    const steps = call!.criticalPath
    expect(steps.map((it) => it.track)).toEqual([0, 1, 0])
    expect(steps[1]!.queuedNs).toBeGreaterThanOrEqual(0)
    expect(steps[1]!.methods.map((it) => it.method)).toContain('job')
    // The job measures its own time inside its call. The two clocks may differ by 0.1 %.
    expect(steps[1]!.toNs - steps[1]!.fromNs).toBeGreaterThan(busyNs * 0.99)
    const sum = steps.reduce((all, it) => all + it.toNs - it.fromNs + it.queuedNs, 0)
    expect(Math.abs(sum - call!.durationNs)).toBeLessThan(1)

    // In the tree, submitted tasks are below the root, so their time is subtracted.
    const own = totalOf(profile.merged, 'hand') - handedOver(profile.merged)
    const both = first!.durationNs + call!.durationNs
    expect(Math.abs(both - own)).toBeLessThan(0.001 * own + 4000)

    const trace = join(temporaryDirectory('jfluid-trace-'), 'p.trace.json')
    expect((await jfluid('export', recording.file, '--out', trace)).code).toBe(0)
    const { stdout } = await jfluid('report', recording.file, '--trace', '2')
    expect(stdout).toMatch(/Call 2, critical path, 3 steps\n/)
    expect(stdout).toMatch(/fix\.Ordered\.job/)
    const { code, stderr } = await jfluid('report', recording.file, '--trace', '3')
    expect(stderr).toMatch(/has no traced call 3: it contains 2/)
    expect(code).toBe(64)
  })
})

function handedOver(roots: readonly JsonNode[]): number {
  return roots.reduce(
    (sum, it) => sum + (/^lambda\$hand/.test(it.method) ? it.totalNs : handedOver(it.children)),
    0,
  )
}
