// A JVM in a container, and jfluid outside of it: no directory, file or user is shared that an attach would need.
// More of them are tried, where there is root, in test/faults/containers.test.ts.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { cannotContain, PIDS, PRIVATE, startContained } from '../support/contained.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { readProfileJson, startJfluid } from '../support/jfluid.ts'

const ROOTLESS = ['--user', '--map-root-user', '--mount', ...PIDS]
const obstacle = cannotContain(...ROOTLESS)
if (obstacle !== '')
  console.info(`not tried: this system lets nobody make a container without root: ${obstacle}`)

describe.skipIf(obstacle !== '')('a JVM in a container without root', () => {
  forEachJdk((jdk) => {
    it('is given the agent and a place to meet, woken the next time, and nothing stays there', async () => {
      const classes = await compileFixture(jdk, 'Ticker')
      const java = await startContained(jdk, classes, ['fix.Ticker', '1', 'tiny'], {
        namespaces: ROOTLESS,
        setUp: PRIVATE,
      })
      const file = join(temporaryDirectory(), 'p.jfluid')
      const record = [
        'record',
        `${java.pid}`,
        '--root',
        'fix.Ticker.work',
        '--duration',
        '200ms',
        '--out',
        file,
      ]
      const sessions = jdk === newest ? 2 : 1
      for (let session = 0; session < sessions; session++) {
        const client = startJfluid(...record)
        const { code } = await client.exit
        const stderr = client.stderr()
        expect(code, stderr).toBe(0)
        expect(stderr).toMatch(/restored: \d+ class\w* original, nothing left/)
        expect(java.left(client.pid)).toEqual([])
      }
      const [root] = (await readProfileJson(file)).merged
      expect(root?.method).toBe('work')
      expect(root?.calls).toBeGreaterThan(0)
      expect(java.runs()).toBe(true)
    })
  })
})
