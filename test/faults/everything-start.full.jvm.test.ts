// All classes have probes, including the JDK. Locks, class initialization, references and logging in `fixtures/everything` work as
// without probes: the output is identical, nothing hangs, and all code is restored.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileEverything } from '../fixtures/fixtures.ts'
import { filesOf } from '../live/remains.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { startJfluid } from '../support/jfluid.ts'
import {
  alone,
  childOf,
  differences,
  ending,
  goesOn,
  hung,
  isKept,
  MODES,
  told,
  withRoot,
} from './everything-run.ts'
import { type Outcome, times, trials } from './trials.ts'

async function fromTheStart(jdk: Jdk, flags: readonly string[]): Promise<Outcome> {
  const first = await once(jdk, flags)
  // jfluid delays main() for at most ten seconds. On a busy machine a client may be ready later, and then records nothing.
  const found = first ?? (await once(jdk, flags))
  if (found !== null) return found
  const wrong = ['the program had ended twice before there was anything to record']
  return { harm: [], wrong, profile: 'none', left: null }
}

/** @returns null if the program ended before any call was recorded */
async function once(jdk: Jdk, flags: readonly string[]): Promise<Outcome | null> {
  const classes = await compileEverything(jdk)
  const file = join(temporaryDirectory(), 'p.jfluid')
  const options = [...withRoot('every.Main.main', flags), '--record', file]
  const begun = performance.now()
  const p = startJfluid('run', ...options, '--', jdk.java, '-cp', classes, 'every.Main', 'run')
  if (!(await goesOn(p, p.exit))) return hung(p, childOf(p))
  const ms = performance.now() - begun
  const found = told(p, (await p.exit).code)
  const harm = differences(found, await alone(jdk))
  const wrong = ending(found, await alone(jdk))
  const [problems] = [harm, wrong].filter((all) => all.length > 0)
  problems?.push(p.stderr())
  if (problems === undefined && /before (?:anything was recorded|the recording began)/.test(p.stderr()))
    return null
  return { harm, wrong, profile: await isKept(file), left: filesOf(p.pid, p.pid), ms: { all: ms } }
}

forNewestJdk((jdk) => {
  it.each(MODES.map((flags) => [flags.join(' '), flags] as const))(
    'if all methods are instrumented from startup with %s, output and exit status of the program are unchanged',
    { timeout: 3_600_000 },
    async (name, flags) => {
      await trials(`\`run --jdk ${name}\`, root \`main\``, jdk, times(1, 3), () => fromTheStart(jdk, flags))
      expect((await alone(jdk)).code).toBe(7)
    },
  )
})
