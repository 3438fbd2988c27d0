// A target that can create no more threads or open no more files before an attach. Later moments: scarce-system.full.jvm.test.ts.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { attachCommand } from '../../src/attach/command.ts'
import { socketPath } from '../../src/attach/target-facts.ts'
import { readTargetProcess, readThreadNames } from '../../src/attach/target-process.ts'
import { until } from '../live/remains.ts'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forOldestJdk } from '../support/jdks.ts'
import { jfluid, startJfluid } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { DESCRIPTORS, IS_ROOT, outcome, ROOT_METHOD, start, THREADS } from './scarce-system-limits.ts'
import { times, trials } from './trials.ts'

forOldestJdk((jdk) => {
  const each = FULL ? [THREADS, DESCRIPTORS] : IS_ROOT && jdk.version < 25 ? [THREADS] : [DESCRIPTORS]

  it.each(each)(
    'an attach to a target that has no $what left is refused, and the target continues',
    { timeout: 600_000 },
    async (scarce) => {
      await trials(`no ${scarce.what} at attach`, jdk, times(1, 20), async (chance) => {
        const witness = await start(jdk, scarce)
        // The first attach is the most dangerous: a JVM that cannot create its attach listener thread ends.
        const isFirst = FULL ? chance.next() < 0.5 : true
        if (!isFirst) await witness.settle()
        const limit = scarce.limit(witness.pid)
        await limit.lower()
        const file = join(temporaryDirectory(), 'p.jfluid')
        const client = startJfluid('record', String(witness.pid), '--out', file, ...ROOT_METHOD)
        witness.client(client.pid)
        const { code } = await client.exit
        const wrong: string[] = []
        if (code !== STATUS.notNow) wrong.push(`jfluid ended with ${code}`)
        if (!scarce.refusal.test(client.stderr())) wrong.push(client.stderr())
        await limit.raise()
        if (isFirst) await witness.settle()
        const after = await outcome(witness, 'none')
        return { ...after, wrong: [...wrong, ...after.wrong] }
      })
    },
  )
})

forOldestJdk((jdk) => {
  // The connection of jfluid or jcmd needs a file descriptor. Without a free descriptor, HotSpot's listener ends and leaves a socket
  // without a listener.
  itInFull(
    'an attach works after the attach listener thread of the JVM has ended for lack of file descriptors',
    async () => {
      const witness = await start(jdk, DESCRIPTORS)
      await witness.settle()
      const limit = DESCRIPTORS.limit(witness.pid)
      await limit.lower()
      const path = socketPath(readTargetProcess(witness.pid)!)
      // The kernel has reserved a descriptor for a pending accept, so two descriptors are needed.
      const ask = () => attachCommand(path, 'properties', [], { timeoutMs: 500 })
      await ask().catch(() => {})
      await expect(ask()).rejects.toThrow()
      await until(() => !readThreadNames(witness.pid).has('Attach Listener'))
      await limit.raise()
      // One second contains calls of the root, also on a busy machine.
      const file = join(temporaryDirectory(), 'p.jfluid')
      const ran = await jfluid('record', `${witness.pid}`, ...ROOT_METHOD, '--duration', '1s', '--out', file)
      expect(ran.code, ran.stderr).toBe(0)
      expect((await witness.harm()).harm).toEqual([])
      expect(witness.java.stdout()).not.toContain('Full thread dump')
      await witness.end()
    },
  )
})
