// A JVM in a container and jfluid outside, without a shared directory, file or user. More cases, which need root, are in
// test/faults/containers.full.jvm.test.ts.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { cannotContain, PIDS, PRIVATE, startContained } from '../support/contained.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { AUTOSAVED, cli, readProfileJson, recordedSoFar } from '../support/jfluid.ts'
import { describeOnlyIf } from '../support/only-if.ts'

const ROOTLESS = ['--user', '--map-root-user', '--mount', ...PIDS]
const obstacle = cannotContain(...ROOTLESS)
const describeContained = describeOnlyIf(obstacle === '', `needs containers without root: ${obstacle}`)

describeContained('a JVM in a rootless container', () => {
  forEachJdk((jdk) => {
    it('a JVM in a rootless container gets the agent and a buffer directory, and two sessions leave no file behind', async () => {
      const classes = await compileFixture(jdk, 'Ticker')
      const java = await startContained(jdk, classes, ['fix.Ticker', '1'], {
        namespaces: ROOTLESS,
        setUp: PRIVATE,
      })
      const file = join(temporaryDirectory(), 'p.jfluid')
      const record = ['--root', 'fix.Ticker.work', '--duration', '10m', '--out', file, ...AUTOSAVED]
      // A fake docker command that resolves the container's name to the process.
      const bin = temporaryDirectory()
      const State = { Status: 'running', Pid: java.pid }
      const answer = JSON.stringify([{ Id: 'f'.repeat(64), State }])
      writeFileSync(join(bin, 'docker'), `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 })
      const sessions = jdk === newest ? 2 : 1
      for (let session = 0; session < sessions; session++) {
        const target = session === 0 ? `${java.pid}` : 'container:shop'
        const client = startProcess(process.execPath, [cli, 'record', target, ...record], {
          env: { PATH: bin },
        })
        await recordedSoFar({ file, process: client })
        client.child.kill('SIGINT')
        const { code } = await client.exit
        const stderr = client.stderr()
        expect(code, stderr).toBe(0)
        expect(stderr).toMatch(/restored: \d+ class\w* verified as original, nothing of jfluid remains/)
        expect(java.left(client.pid)).toEqual([])
      }
      const [root] = (await readProfileJson(file)).merged
      expect(root?.method).toBe('work')
      expect(root?.calls).toBeGreaterThan(0)
      expect(java.runs()).toBe(true)
    })
  })
})
