// Another agent adds members to a class at load but not at redefinition, so the JVM refuses every redefinition of this class.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { callsByMethod, calmWarnings, jfluid, lines, startRecording } from '../support/jfluid.ts'
import { SAID, startReshaping, WHY } from './reshaping.ts'

describe('a class that another agent has changed at load', () => {
  forNewestJdk((jdk) => {
    it('a class that another agent has changed at load cannot contain a root, and the error names the agent and the reason', async () => {
      const java = await startReshaping(jdk)
      const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
      const options = ['--root', 'Reshaped.work', '--duration', '1s', '--out', file]
      const { code, stderr } = await jfluid('record', String(java.pid), ...options)
      expect(stderr).toContain(
        `jfluid: root 'Reshaped.work' could not be instrumented: Reshaped.work(): its class was refused: ${SAID}\n` +
          '  Run the program without the other agent that changes this class (jfluid doctor names the agents), or name',
      )
      expect(code).toBe(69)
      java.send('')
      await java.line(/^ran 1$/)
      expect(java.stderr()).toBe('')
    })

    it('a class that another agent has changed at load is reported with the reason if it is called below a root, and calls of other classes are counted', async () => {
      const java = await startReshaping(jdk)
      const recording = startRecording(java.pid, '--root', 'Reshaping.task')
      await recording.started
      for (let runs = 1; runs <= 5; runs++) {
        java.send('')
        await java.line(new RegExp(`^ran ${runs}$`))
      }
      const profile = await recording.stop()
      expect(calmWarnings(profile.warnings)).toEqual([
        expect.stringContaining(
          `1 class could not be instrumented: Reshaped (${SAID}); calls of 3 methods are missing, and their time counts for their callers. ${WHY}`,
        ),
      ])
      expect(recording.process.stderr()).toContain('warning: 1 class could not be instrumented: Reshaped')
      // Each of 5 runs calls Other.help() twice: directly, and in Reshaped.work().
      expect(lines(callsByMethod(profile))).toEqual(['Other.help()V 10', 'Reshaping.task()V 5'])
      // The third method is the other agent's transform(), which the JVM may call.
      expect(profile.instrumentation.instrumentedMethods).toBe(3)
      // The JVM refused the probes of this class, so the detach does not restore it.
      expect(profile.detach).toMatchObject({ refusedClasses: 0, left: [] })
    })
  })
})
