// `jfluid run` with commands that start several JVMs, as build tools do; and ci/jfluid-ci.sh, which uses it.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { checkScript, TASK } from '../install/ci-script.ts'
import { STATUS } from '../support/exit-codes.ts'
import { compileJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { unpacked } from '../support/package.ts'

forNewestJdk((jdk) => {
  const java = jdk.java

  it('the JVM in which the root is called is profiled, and the exit code is that of the command', async () => {
    const forks = await compileFixture(jdk, 'Forks')
    const out = join(temporaryDirectory(), 'p.jfluid')
    const { code, stderr } = await jfluid(
      ...['run', '--root', 'fix.ForkedJob.work', '--record', out, '--'],
      ...['sh', '-c', '"$@"; exit 3', 'sh', java, '-cp', forks, 'fix.Forks'],
    )
    expect(code, stderr).toBe(3)
    expect(stderr).toMatch(/^JVM \d+ \(fix\.ForkedJob\): 100 root calls recorded$/m)
    const profile = await readProfileJson(out)
    expect(profile.target.mainClass).toBe('fix.ForkedJob')
    expect(profile.merged[0]?.calls).toBe(100)
  })

  it('the profile of two JVMs that call the root is their sum, and each JVM has its own profile', async () => {
    const classes = await compileJava(jdk, { 'fix/Task': TASK })
    const out = join(temporaryDirectory(), 'p.jfluid')
    const task = `"${java}" -cp "${classes}" fix.Task`
    const { code, stderr } = await jfluid(
      ...['run', '--root', 'fix.Task.work', '--record', out, '--', 'sh', '-c', `${task} 3 & ${task} 5; wait`],
    )
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/^2 JVMs called a root; the profile is their sum$/m)
    // On a loaded machine, the first call of `step` may be a gap. So the sum is compared with what was recorded in each JVM.
    const counts = async (path: string): Promise<readonly number[]> => {
      const [root] = (await readProfileJson(path)).merged
      return [root?.calls ?? 0, root?.children[0]?.calls ?? 0]
    }
    const own = [...stderr.matchAll(/alone: profile in (.*)$/gm)].map(([, path]) => path!)
    const [a, b] = await Promise.all(own.map(counts))
    expect([own.length, a?.[0], b?.[0]]).toEqual([2, 1, 1])
    expect(await counts(out)).toEqual([2, a![1]! + b![1]!])
  })

  itInFull('--jvm and a missing root: the error lists the JVMs of the command', async () => {
    const forks = await compileFixture(jdk, 'Forks')
    const command = ['--', 'sh', '-c', '"$@"; exit', 'sh', java, '-cp', forks, 'fix.Forks']
    const out = join(temporaryDirectory(), 'p.jfluid')
    const run = (...options: string[]) => jfluid('run', ...options, '--record', out, ...command)
    const misspelt = await run('--root', 'fix.ForkedJob.wrok')
    expect(misspelt.code, misspelt.stderr).toBe(STATUS.rootNotFound)
    expect(misspelt.stderr).toMatch(/no such method in fix\.ForkedJob\n {2}Try --root 'fix\.ForkedJob\.work'/)
    const missing = await run('--root', 'fix.Nothing.work')
    expect(missing.code, missing.stderr).toBe(STATUS.rootNeverCalled)
    expect(missing.stderr).toMatch(
      /^jfluid: no call of fix\.Nothing\.work was recorded in the 2 JVMs of the command: .*\(fix\.ForkedJob\)/m,
    )
    const other = await run('--root', 'fix.ForkedJob.work', '--jvm', 'surefire')
    expect(other.stderr).toMatch(/started no JVM with the main class 'surefire'\n {2}Use one of .*fix\.Forks/)
    expect(other.code).toBe(69)
  })

  itInFull(
    'jfluid-ci from the npm package records, compares with a baseline, and fails if the task executes more',
    () => checkScript(jdk, join(unpacked(), 'ci/jfluid-ci.sh')),
  )
})
