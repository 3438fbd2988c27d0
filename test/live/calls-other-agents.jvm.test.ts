// Another agent in the same JVM changes callees: before, after or during a session.

import { describe, expect, it } from 'vitest'
import type { JavaProcess } from '../support/java-process.ts'
import { oldestOrAll } from '../support/jdks.ts'
import { callsByMethod, type JsonProfile, lines, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
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

describe.each(oldestOrAll)('JDK $version', (jdk) => {
  describe.each(SCHEMES)('with scheme %s', (scheme) => {
    const record = (java: JavaProcess) =>
      startRecording(java.pid, '--root', 'fix.Other.root', '--scheme', scheme)

    it('code changed by an earlier agent is profiled and restored', async () => {
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

    it('both versions of a class that a later agent changes are counted, and the changed version stays', async () => {
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

    it('a class gets its probes back after another agent has removed them', async () => {
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
