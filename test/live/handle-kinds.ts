// Compares the calls by method handles that jfluid counts with the program's own counts (fixtures/HandleKinds.java).

import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

/** Value of `-XX:TieredStopAtLevel`, or 'default' without this option. */
export type Level = 1 | 2 | 'default'

export const ROOT = 'fix.HandleKinds.root'
/** A root without callees that is called by reflection, which uses a method handle since JDK 18. */
export const LEAF_ROOT = 'fix.HandleKinds.reflected'

/** Number of worker threads, which call continuously. */
export const WORKERS = 2
/** Calls of each worker before the measurement, enough to reach the last compiler of each level. */
const WARM_UP = 10_000
/** Calls of the main thread, while the workers make the same calls. */
const CALLS = FULL ? 1_000 : 200

export async function startHandleKinds(jdk: Jdk, level: Level): Promise<JavaProcess> {
  const options = level === 'default' ? [] : [`-XX:TieredStopAtLevel=${level}`]
  const classes = await compileFixture(jdk, 'HandleKinds')
  const java = startJava(jdk, [...options, '-cp', classes, 'fix.HandleKinds', `${WORKERS}`, `${WARM_UP}`])
  await java.line(/^ready/)
  return java
}

export interface Counted {
  /** Targets per thread with a count that differs from the program's count. */
  readonly wrong: string[]
  /** Number of targets that were called, and of threads that called them. */
  readonly targets: number
  readonly threads: number
  readonly profile: JsonProfile
}

/**
 * Records while all threads call handles, and compares the counts of each thread. The main thread's counts must equal the program's own
 * counts. A worker's count of each target must equal its number of root calls, since each root call calls each target once.
 *
 * @param session  a name that was not used before in this JVM
 */
export async function countHandleCalls(
  java: JavaProcess,
  session: string,
  root: typeof ROOT | typeof LEAF_ROOT,
  ...flags: string[]
): Promise<Counted> {
  const recording = startRecording(java.pid, '--root', root, ...flags)
  await recording.started
  java.send(`${root === ROOT ? 'run' : 'leaf'} ${CALLS}`)
  java.send(`expect ${session}`)
  await java.line(new RegExp(`^end ${session}$`))
  const profile = await recording.stop()

  const targets = new Map<string, number>()
  for (const line of java.stdout().split('\n')) {
    const [what, of, target, calls] = line.split(' ')
    if (what === 'calls' && of === session && Number(calls) > 0) targets.set(target!, Number(calls))
  }
  const wrong: string[] = []
  let threads = 0
  for (const { name, roots } of profile.threads) {
    const counts = callsByName(roots)
    const rootCalls = counts.get(root) ?? 0
    if (rootCalls === 0) continue
    threads++
    for (const [target, calls] of targets) {
      const [least, most] = name === 'main' ? [calls, calls] : [rootCalls - 1, rootCalls] // the last call may still be running
      const counted = counts.get(target) ?? 0
      if (counted < least || counted > most) wrong.push(`${name}: ${target} ${counted} of ${most}`)
    }
  }
  return { wrong, targets: targets.size, threads, profile }
}

/** Returns the calls, keyed by class and method. HandleKinds has no overloaded methods. */
function callsByName(roots: readonly JsonNode[]): Map<string, number> {
  const calls = new Map<string, number>()
  const left = [...roots]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    const name = `${node.class}.${node.method}`
    calls.set(name, (calls.get(name) ?? 0) + node.calls)
    left.push(...node.children)
  }
  return calls
}
