// A target without free metaspace before an attach, or without heap inside the root. Its methods throw only what they would throw without
// jfluid.

import { it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, forOldestJdk } from '../support/jdks.ts'
import { jfluid, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { keptIn, Lean, leftIn, METASPACE, nextAttach, ROOTS } from './scarce-memory-target.ts'
import { times, trials } from './trials.ts'

forOldestJdk((jdk) => {
  it('an attach with little metaspace is refused before a class is loaded', {
    timeout: 600_000,
  }, async () => {
    await trials(
      'metaspace nearly full at attach, -XX:+ExitOnOutOfMemoryError',
      jdk,
      times(1, 15),
      async (chance) => {
        const lean = await Lean.start(jdk, ...METASPACE, '-XX:+ExitOnOutOfMemoryError')
        await lean.ask(`metaspace ${Math.floor(chance.between(130, 5500))}`)
        const out = `${temporaryDirectory()}/p.jfluid`
        const { code, stderr } = await jfluid('record', String(lean.java.pid), ...ROOTS, '--out', out)
        const harm = await lean.harm()
        const wrong = code === 75 && /of its metaspace are free/.test(stderr) ? [] : [`${code}: ${stderr}`]
        await lean.ask('give')
        wrong.push(...(await nextAttach(lean)))
        harm.push(...(await lean.harm()))
        const left = await leftIn(lean)
        await lean.java.kill()
        return { harm, wrong, profile: 'none', left }
      },
    )
  })
})

forNewestJdk((jdk) => {
  itInFull(
    'OutOfMemoryErrors inside the root are caused only by the program and not by jfluid',
    {
      timeout: 600_000,
    },
    async () => {
      await trials('OutOfMemoryError inside the root, again and again', jdk, times(1, 10), async (chance) => {
        const lean = await Lean.start(
          jdk,
          '-Xmx24m',
          chance.of(['-XX:+UseSerialGC', '-XX:+UseG1GC', '-XX:+UseParallelGC']),
        )
        const rounds = FULL ? 30 : 5
        await lean.ask(`rounds ${rounds}`)
        const recording = startRecording(lean.java.pid, ...ROOTS)
        await recording.started
        const [, , others] = (await lean.ask(`rounds ${rounds}`)).split(' ').map(Number)
        recording.process.child.kill('SIGINT')
        await recording.process.exit
        const harm = await lean.harm()
        if (others !== 0) harm.push(`${others} errors came out of other places`)
        const left = await leftIn(lean)
        const wrong = await nextAttach(lean)
        await lean.java.kill()
        return { harm, wrong, profile: await keptIn(recording.file), left }
      })
    },
  )
})
