// Runs the built client as a user does, and reads what it recorded.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type JavaProcess, startProcess, temporaryDirectory } from './java-process.ts'

/** The tested command. */
export const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts `jfluid …`. A command that has not ended by itself is ended with the test. */
export function startJfluid(...args: string[]): JavaProcess {
  return startProcess(process.execPath, [cli, ...args])
}

/** Starts `jfluid …` without a terminal, as in CI: it receives no signals from the terminal in which the tests run. */
export function startDetached(...args: string[]): JavaProcess {
  return startProcess(process.execPath, [cli, ...args], { detached: true })
}

export async function jfluid(...args: string[]): Promise<Ran> {
  const p = startJfluid(...args)
  const { code } = await p.exit
  return { code, stdout: p.stdout(), stderr: p.stderr() }
}

/** A node of `export --format json`. */
export interface JsonNode {
  class: string
  method: string
  descriptor: string
  /** Call site, with `--call-sites`; absent for code without line numbers. */
  bci?: number
  line?: number
  calls: number
  selfNs: number
  totalNs: number
  measuredNs: number
  /** Parts of `calls` and `selfNs` from before the end of the warm-up; absent if 0. */
  warmupCalls?: number
  warmupSelfNs?: number
  /** Bytecodes instead of times, with `--mode bytecodes`. */
  selfBytecodes?: number
  totalBytecodes?: number
  /** Times of waits, if waits are recorded; absent if 0. */
  blockedNs?: number
  waitedNs?: number
  totalBlockedNs?: number
  totalWaitedNs?: number
  /** Samples instead of times, with `--mode sample`; `calls` is then the number of observed calls. */
  selfSamples?: number
  totalSamples?: number
  /** Allocations, with `--mode alloc`: of the method itself, of its subtree, and of the method itself per class. */
  objects?: number
  bytes?: number
  totalObjects?: number
  totalBytes?: number
  allocated?: JsonAllocation[]
  /** Live objects that the method itself has allocated, with `--liveness`. */
  liveObjects?: number
  liveBytes?: number
  age?: number
  /** Facts of scheme adaptive; zeros are absent. */
  known?: 'timed' | 'sampled'
  samples?: number
  sdNs?: number
  unseen?: number
  cpuNs?: number
  lockNs?: number
  ioNs?: number
  sleepNs?: number
  waitNs?: number
  unknownNs?: number
  children: JsonNode[]
}

export interface JsonAllocation {
  class: string
  objects: number
  bytes: number
  /** Live objects of this class, with `--liveness`. */
  liveObjects?: number
  liveBytes?: number
  age?: number
}

/** An element of `regions`. */
export interface JsonRegion {
  region: string
  class: string
  loader: string
  method: string
  descriptor: string
  lines: { from: number; to: number } | null
  count: number
  ratePerSecond: number
  totalNs: number
  minNs: number
  meanNs: number
  maxNs: number
  percentilesNs: Record<string, number>
  firstMs: number | null
  lastMs: number | null
  buckets: { fromNs: number; toNs: number; count: number }[]
  intervalMs: number
  intervals: { count: number; totalNs: number; maxNs: number }[]
  lastNs: number[]
}

export interface JsonProfile {
  format: string
  version: number
  target: { pid: number; jdk: string; vm: string; mainClass: string }
  mode: string
  blocks?: string
  sampling?: {
    every: number
    unit: string
    random?: number
    by: string
    /** Number of samples outside the roots, if the JVM takes the samples. */
    outside?: number
    /** Number of thread dumps, if samples are taken by thread dumps. */
    dumps?: number
    stoppedNs?: number
    samples?: number
    bytecodes?: number
    latencyNs?: { p50: number; p90: number; p99: number; max: number }
  }
  allocation?: {
    sampleEvery: number
    siteBytes: number
    sampledBytes: number
    notAttributedBytes: number
    jvmBytes?: number
    /** Facts about live objects, with `--liveness`. */
    liveness?: { collections: number; untracked: number }
  }
  classes?: JsonAllocation[]
  scheme: string
  roots: string[]
  durationMs: number
  /** With `--from` or `--to`. */
  range?: {
    fromMs: number
    toMs: number
    segmentMs: number
    rowsFromMs: number
    rowsToMs: number
    ofMs: number
    recordingStartedAt: string
  }
  calibration: {
    innerNs: number
    outerNs: number
    innerSpreadNs?: number
    outerSpreadNs?: number
    clock: string
    readNs?: number
    clockMHz?: number
  }
  instrumentation: {
    instrumentedMethods: number
    calledMethods: number
    redefinitions: number
    redefinedClasses: number
    hotSwapMs: number
    longestPauseMs: number
    analysisMs: number
    skipped: { method: string; reason: string }[]
    gaps: number
    healed: number
    /** Methods with stack overflows, sorted by the number of errors, largest first; absent in profiles of older versions. */
    overflows?: { method: string; errors: number }[]
  }
  warmupMs: number
  truncated: boolean
  warnings: string[]
  events: { count: number; waitMs: number }
  openCalls: number
  /** Facts of scheme adaptive. */
  stacks?: {
    samples: number
    missed: number
    dropped: number
    rootCalls: number
    longestStallMs: number
    stallCause: string | null
    suspendedMs: number
    pauses: { predictedMs: number | null }[]
  }
  /** Changes made during the session. */
  byHand?: { what: string; text: string; atMs: number; methods: number }[]
  detach?: {
    ms: number
    proofMs: number
    restoredClasses: number
    refusedClasses: number
    code: {
      checkedClasses: number
      checkedMethods: number
      originalClasses: number
      different: string[]
      unchecked: string
    }
    left: string[]
    unseen: string[]
    lambdaClasses: number
  }
  kept: { heapBytes: number; outsideBytes: number }
  followThreads: boolean
  followedTasks: number
  waits?: true
  /** Regions, with `--region`. */
  regions?: JsonRegion[]
  callSites?: true
  /** Root calls, if times or bytecodes are recorded. */
  rootCalls?: {
    unit: string
    count: number
    total: number
    min: number
    mean: number
    max: number
    percentiles: Record<string, number>
    threw?: { class: string; calls: number }[]
  }
  course?: {
    firstSecond: number
    seconds: {
      calls?: number
      p50?: number
      mean?: number
      p95?: number
      max?: number
      events: number
      waitNs: number
      pauses: number
      pauseNs: number
    }[]
  }
  /** Slow calls, with `--slow`. */
  slowCalls?: {
    unit: string
    threshold: string | number
    thresholdNow: number | null
    count: number
    dropped: number
    treeFromMs?: number
    treeCount?: number
    roots: JsonNode[]
    threwCount?: number
    threw?: JsonSlowCall[]
    slowest: JsonSlowCall[]
  }
  methods: {
    class: string
    loader: string
    method: string
    descriptor: string
    calls: number
    selfNs: number
    totalNs: number
    blockedNs?: number
    waitedNs?: number
    selfSamples?: number
  }[]
  threads: { id: number; name: string; roots: JsonNode[] }[]
  merged: JsonNode[]
}

/** A slow call in JSON. */
export interface JsonSlowCall {
  number: number
  threadId: number
  threadName: string
  class: string
  method: string
  descriptor: string
  time: number
  atMs: number
  roots: JsonNode[]
  threw?: string
  by?: string
  values?: (string | null)[]
  caller?: string
  traceId?: string
  samples?: number
}

export interface Recording {
  /** Resolves when the target records. */
  readonly started: Promise<void>
  readonly process: JavaProcess
  /** Ends the recording like Ctrl-C. `status`: expected exit code, default 0. */
  end(status?: number): Promise<void>
  /** Ends the recording and reads the profile. `status`: expected exit code, default 0. */
  stop(status?: number): Promise<JsonProfile>
  readonly file: string
}

/**
 * Starts `jfluid record`, which runs until `stop`.
 *
 * @param target  process id, or options that select the JVM
 */
export function startRecording(target: number | readonly string[], ...args: string[]): Recording {
  const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
  const p = startJfluid('record', ...[target].flat().map(String), '--duration', '10m', '--out', file, ...args)
  const started = stderrLine(p, /recording/)
  started.catch(() => {}) // not every test waits for it, and a session that samples may not print the word
  const end = async (status = 0) => {
    p.child.kill('SIGINT')
    const { code } = await p.exit
    if (code !== status) throw new Error(`jfluid record ended with ${code}:\n${p.stderr()}`)
  }
  return {
    started,
    process: p,
    file,
    end,
    async stop(status) {
      await end(status)
      return readProfileJson(file)
    },
  }
}

/** Options of a recording for `recordedSoFar`. */
export const AUTOSAVED = ['--autosave', '100ms'] as const

/**
 * Waits until a running recording has recorded what a test needs: by default, a call or a sample. A fixed duration may contain neither on a
 * busy machine.
 *
 * @param enough  evaluated for the profile so far, which the recording autosaves beside its file if it is not empty
 */
export async function recordedSoFar(
  { process, file }: Pick<Recording, 'process' | 'file'>,
  enough: (profile: JsonProfile) => boolean = () => true,
): Promise<void> {
  const autosaved = `${file}.autosave`
  while (!existsSync(autosaved) || !enough(await readProfileJson(autosaved))) {
    if (process.child.exitCode !== null || process.child.signalCode !== null)
      throw new Error(`the recording ended:\n${process.stderr()}`)
    await sleep(20)
  }
}

/**
 * Returns the output of `export --format json`. It is generated in this process, since a start of the command for each
 * session would take too long. Tests of the command itself start it.
 */
export async function readProfileJson(file: string): Promise<JsonProfile> {
  const [{ readProfile }, { jsonPieces }] = await Promise.all([
    import('../../src/profile/file.ts'),
    import('../../src/profile/json.ts'),
  ])
  return JSON.parse([...jsonPieces(await readProfile(file))].join('')) as JsonProfile
}

/** Resolves when a line of stderr matches. Rejects with the output if the process ends before that. */
export function stderrLine(p: JavaProcess, pattern: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): boolean => {
      const found = p
        .stderr()
        .split('\n')
        .some((line) => pattern.test(line))
      if (found) resolve()
      return found
    }
    if (look()) return
    p.child.stderr?.on('data', () => setImmediate(look))
    void p.exit.then(() => {
      if (!look()) reject(new Error(`ended without ${pattern}:\n${p.stderr()}`))
    })
  })
}

const nameOf = (n: JsonNode): string => `${n.class}.${n.method}${n.descriptor}`

/** Returns calls keyed by path: `class.method(descriptor)` from the root down, joined by semicolons. */
export function callsByPath(roots: readonly JsonNode[]): Map<string, number> {
  const calls = new Map<string, number>()
  // Without recursion: a tree may be deeper than the stack.
  const left = roots.map((node) => ({ node, path: nameOf(node) })).reverse()
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, path } = next
    if (node.calls > 0) calls.set(path, (calls.get(path) ?? 0) + node.calls)
    for (const child of node.children.toReversed())
      left.push({ node: child, path: `${path};${nameOf(child)}` })
  }
  return calls
}

/** Returns calls keyed by method. */
export function callsByMethod(profile: JsonProfile): Map<string, number> {
  return new Map(
    profile.methods.filter((m) => m.calls > 0).map((m) => [`${m.class}.${m.method}${m.descriptor}`, m.calls]),
  )
}

/** Returns a map as sorted lines, so that a failed comparison is readable as a diff. */
export function lines(map: ReadonlyMap<string, number>): string[] {
  return [...map].map(([name, calls]) => `${name} ${calls}`).sort()
}

/** Returns the warnings except that the client got no processor for some time, which is the case beside other tests now and then. */
export function calmWarnings(warnings: readonly string[]): string[] {
  return warnings.filter((it) => !it.startsWith('the client read no events for '))
}

/** Checks that the total of every node is its self time plus the totals of its children. */
export function sumsAreExact(roots: readonly JsonNode[]): boolean {
  const isExact = ({ totalNs, selfNs, children }: JsonNode): boolean =>
    Math.abs(totalNs - selfNs - children.reduce((sum, child) => sum + child.totalNs, 0)) <=
    1e-6 * Math.max(1, Math.abs(totalNs)) + 1
  // Without recursion: a tree may be deeper than the stack.
  const left = [...roots]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (!isExact(node)) return false
    for (const child of node.children) left.push(child)
  }
  return true
}
