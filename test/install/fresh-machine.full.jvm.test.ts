// A fresh clone on a machine that has only Node.js, npm, git and a JDK: the commands of README.md and CONTRIBUTING.md. The clone has the
// commits, not the changes of the working tree. Needs root, and the packages podman, runc and debootstrap.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { minimalRoot, nodeOptions, npmOptions } from '../support/minimal-root.ts'
import { LIMITS, podman, startPodman, whyNoContainers } from '../support/podman.ts'

const project = join(import.meta.dirname, '../..')
const machine = `jfluid-fresh-machine-${process.pid}`

describe('a fresh clone on a minimal Debian with Node.js, npm, git and a JDK', () => {
  beforeAll(() => {
    expect(process.geteuid?.()).toBe(0)
    expect(whyNoContainers()).toBe('')
    const repository = join(temporaryDirectory('jfluid-clone-'), 'jfluid.git')
    const cloned = spawnSync('git', ['clone', '--quiet', '--bare', project, repository], { encoding: 'utf8' })
    expect(cloned.status, cloned.stderr).toBe(0)
    const volumes = [`${repository}:/jfluid.git:ro`, `${newest.home}:/usr/lib/jvm/jdk:ro`]
    const { status, stderr } = podman(
      ...['run', '--detach', '--rm', '--name', machine, '--env', 'HOME=/root', ...LIMITS],
      ...[...nodeOptions(), ...npmOptions(), ...volumes.flatMap((it) => ['--volume', it])],
      // The shell remains the first process, which must wait for processes that have lost their parent.
      ...['--rootfs', `${minimalRoot('ca-certificates', 'git')}:O`, 'bash', '-c', 'sleep infinity & wait'],
    )
    expect(status, stderr).toBe(0)
    const clone = podman('exec', machine, 'git', 'clone', '--quiet', '/jfluid.git', '/srv/jfluid')
    expect(clone.status, clone.stderr).toBe(0)
  }, 600_000)
  afterAll(() => {
    podman('rm', '--force', '--time', '0', machine)
  })

  it.each([
    ['README.md', 'npm run demo', 10, /shop\.OrderService\.process/],
    // At most 4 minutes on 2 processors that do nothing else.
    ['CONTRIBUTING.md', 'npm test', 20, /^java: passed, unit: passed, smoke: passed in \d+ s$/m],
  ])(
    'in the shell blocks of %s: %s works without a terminal',
    async (file, command, minutes, says) => {
      expect(readFileSync(join(project, file), 'utf8')).toMatch(new RegExp(`^${command}(?: +#.*)?$`, 'm'))
      const begun = performance.now()
      const words = ['timeout', `${minutes}m`, ...command.split(' ')]
      const p = startPodman('exec', '--workdir', '/srv/jfluid', machine, ...words)
      const { code } = await p.exit
      const said = `${p.stdout()}${p.stderr()}`
      const seconds = Math.round((performance.now() - begun) / 1000)
      console.info(
        `${command}: ${seconds} s, load average ${loadavg()
          .map((it) => it.toFixed(1))
          .join(', ')}`,
      )
      expect(code, said).toBe(0) // 124: ended by `timeout`
      expect(said).toMatch(says)
    },
    30 * 60_000,
  )
})
