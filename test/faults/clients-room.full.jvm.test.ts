// The disk of a client fills during a recording: the target is restored, and the profile is written elsewhere.

import { openSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { stderrLine } from '../support/jfluid.ts'
import { aftermath, type Client, clientTrials, startClient, verdict } from './lost-clients.ts'
import { TRIAL_MS, times } from './trials.ts'

/** Command prefix that mounts a small file system at the profile's directory. Only the client sees this file system. */
const SMALL_DISK = (dir: string) => [
  ...['unshare', '-m', 'sh', '-c', `mount -t tmpfs -o size=256k tmpfs ${dir} && exec "$@"`, 'sh'],
]

describe.each(jdks)('a client whose disk fills, JDK $version', (jdk) => {
  const tries = times(50)
  it('a client whose disk fills during a recording saves the profile in another directory', {
    timeout: 60_000 + tries * 30_000 + TRIAL_MS,
  }, async () => {
    expect(process.getuid?.(), 'a file system is mounted, which takes root').toBe(0)
    await clientTrials('client: its disk full', jdk, tries, async (witness, chance) => {
      const elsewhere = temporaryDirectory('jfluid-elsewhere-')
      const client = startClient(witness, { duration: '10m', by: SMALL_DISK, env: { TMPDIR: elsewhere } })
      await stderrLine(client.process, /^recording/)
      await sleep(chance.between(0, 500))
      fill(client)
      await sleep(chance.between(0, 500))
      client.process.child.kill('SIGINT')
      const wrong = await verdict(client, { [STATUS.cannotWrite]: /the profile is in \S+$/m })
      const [, path] = /the profile is in (\S+)$/m.exec(client.process.stderr()) ?? []
      const { harm, ms } = await aftermath(witness, performance.now())
      const isKept = path?.startsWith(elsewhere) && (await readProfile(path)).events.count > 0
      if (path !== undefined) rmSync(dirname(path), { recursive: true })
      return { harm, wrong, profile: isKept ? 'kept' : 'lost', left: [], ms }
    })
  })
})

/** Fills the file system of the profile completely. The file system is reached through the process, since no other process sees it. */
function fill({ pid, file }: Client): void {
  const filler = openSync(join(`/proc/${pid}/root`, dirname(file), 'filler'), 'w')
  const bytes = Buffer.alloc(4096)
  for (;;) {
    try {
      writeSync(filler, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return
      throw error
    }
  }
}
