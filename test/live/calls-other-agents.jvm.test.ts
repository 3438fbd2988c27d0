// Another agent in the same JVM changes callees: before, after or during a session.

import { describe, expect, it } from 'vitest'
import type { JavaProcess } from '../support/java-process.ts'
import { oldestOrAll } from '../support/jdks.ts'
import { callsByMethod, type JsonProfile, lines, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { retransform, startOther, tell } from './other-agent.ts'

const SCHEMES = FULL ? ['a', 'b'] : ['b']
const TRANSFORMER = 'fix.Other$Renaming'

function expected(runs: number, ones: number, twos: number): string[] {
  const calls = { 'root()V': runs, 'doOne()V': ones, 'doTwo()V': twos }
  const own = Object.entries(calls).map(([method, n]): [string, number] => [`fix.Other.${method}`, n])
  return lines(new Map([...own, ['fix.Other$Work.step()V', 3 * runs] as const].filter(([, n]) => n > 0)))
}

/** Returns all calls except those of the other agent's transformer, which the JVM calls when it loads a class inside the root. */
function callsOf(profile: JsonProfile): string[] {
  return lines(callsByMethod(profile)).filter((line) => !line.startsWith(TRANSFORMER))
}

/** Returns the number of calls of the other agent's transformer. */
function transformations(profile: JsonProfile): number {
  const all = [...callsByMethod(profile)].filter(([name]) => name.startsWith(`${TRANSFORMER}.transform(`))
  return all.reduce((sum, [, calls]) => sum + calls, 0)
}

describe.each(oldestOrAll)('counted calls in a JVM with other agents, JDK $version', (jdk) => {
  describe.each(SCHEMES)('programs changed by other agents, with scheme %s', (scheme) => {
    const record = (java: JavaProcess) =>
      startRecording(java.pid, '--root', 'fix.Other.root', '--scheme', scheme)

    it('code that an earlier agent has changed is profiled, and detach restores the changed code', async () => {
      const java = await startOther(jdk, 'on')
      const recording = record(java)
      await recording.started
      await tell(java, 'run')
      const profile = await recording.stop()
      expect(callsOf(profile)).toEqual(expected(1, 0, 3))
      expect(transformations(profile)).toBe(1)
      expect(profile.instrumentation.gaps).toBe(0)
      expect(await tell(java, 'run')).toEqual({ ones: 0, twos: 6 })
    })

    it('if a later agent changes a class, calls of the old and the new version of the class are counted, and the new version stays', async () => {
      const java = await startOther(jdk)
      const recording = record(java)
      await recording.started
      await tell(java, 'run', 'add', 'switch')
      await retransform(java)
      await tell(java, 'run')
      const profile = await recording.stop()
      expect(callsOf(profile)).toEqual(expected(2, 3, 3))
      expect(await tell(java, 'run')).toEqual({ ones: 3, twos: 6 })
    })

    itInFull('a class gets its probes back after another agent has removed them', async () => {
      const java = await startOther(jdk, 'off')
      const recording = record(java)
      await recording.started
      await tell(java, 'run', 'switch')
      await retransform(java)
      await tell(java, 'run')
      const profile = await recording.stop()
      expect(callsOf(profile)).toEqual(expected(2, 3, 3))
      expect(await tell(java, 'run')).toEqual({ ones: 3, twos: 6 })
    })
  })
})
