// A process in a frozen control group.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isFrozen, waitsFrozen } from '../../src/attach/control-groups.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type Freezer, freeze, freezers } from '../support/freezer.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { AUTOSAVED, jfluid, recordedSoFar, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { describeOnlyIf } from '../support/only-if.ts'

const places = freezers()
const describeFrozen = describeOnlyIf(places.length > 0, 'needs control groups that it may freeze')
/** Placeholder for machines without a control group that can be frozen. The tests are skipped there. */
const NONE: Freezer = { version: 2, parent: '' }

describeFrozen.each(places.length > 0 ? places : [NONE])(
  'a frozen control group of version $version',
  (place) => {
    it('a frozen process is recognised by its control group, and with control groups of version 2 also by its wait channel', async () => {
      const target = startProcess('cat', [])
      const frozen = await freeze(place, target.pid)
      expect(isFrozen(target.pid)).toBe(true)
      // According to the kernel, the process may still be about to freeze.
      if (place.version === 2) await until(() => waitsFrozen(target.pid))
      else expect(waitsFrozen(target.pid)).toBe(false)
      frozen.thaw()
      await until(() => !isFrozen(target.pid) && !waitsFrozen(target.pid))
    })

    // The tests with a JVM do not depend on how jfluid recognises a frozen process.
    if (!FULL && place !== places[0]) return
    forNewestJdk((jdk) => {
      it('an attach to a frozen JVM is refused without a signal, so no thread dump is printed when the JVM continues', async () => {
        const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1'])
        await java.line(/^ready/)
        const frozen = await freeze(place, java.pid)
        const root = ['--root', 'fix.Ticker.work']
        const file = join(temporaryDirectory(), 'p.jfluid')
        const { code, stderr } = await jfluid('record', `${java.pid}`, ...root, '--out', file)
        expect(code, stderr).toBe(STATUS.notNow)
        expect(stderr).toContain('it is paused (its control group is frozen)')
        expect(stderr).toContain('docker unpause')
        frozen.thaw()
        java.send('pause')
        await java.line(/^paused /)
        expect(java.stdout()).not.toContain('thread dump')
        java.send('resume')
        const recording = startRecording(java.pid, ...root, ...AUTOSAVED)
        await recordedSoFar(recording)
        await recording.end()
      })
    })
  },
)
