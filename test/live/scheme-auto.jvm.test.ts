// The default scheme, and the consent that schemes a and b need before they change a large part of a program.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk, newest } from '../support/jdks.ts'
import { callsByMethod, calmWarnings, jfluid, startRecording } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'

const ROOT = 'fix.Large.root'
/** More classes than the limit up to which scheme auto requests a list of classes. */
const MANY = 5_100

async function start(jdk: Jdk, classes: number): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Large'), 'fix.Large', `${classes}`])
  await java.line(/^ready/)
  return java
}

async function record(java: JavaProcess, ...options: string[]) {
  const recording = startRecording(java.pid, '--root', ROOT, ...options)
  await recording.started
  await ask(java, 'run', /^done/)
  return await recording.stop()
}

/** Runs `jfluid record`, which is refused before it records. */
const refused = async (java: JavaProcess, ...options: string[]) =>
  await jfluid(
    ...['record', `${java.pid}`, '--root', ROOT, '--duration', '1s'],
    ...['--out', join(temporaryDirectory(), 'p.jfluid'), ...options],
  )

forNewestJdk((jdk) => {
  it('every call is counted exactly if few methods are reachable', async () => {
    const profile = await record(await start(jdk, 0))
    expect(profile.scheme).toBe('b')
    expect(calmWarnings(profile.warnings)).toEqual([])
    expect([...callsByMethod(profile)].sort()).toEqual([
      ['fix.Large.root()I', 3],
      ['fix.Large.step(I)I', 6],
    ])
    expect(profile.detach).toMatchObject({ left: [] })
  })

  it('only the root has probes if many classes are loaded, unless scheme b is requested', async () => {
    const java = await start(jdk, MANY)
    const profile = await record(java)
    expect(profile.scheme).toBe('adaptive')
    expect(profile.warnings).toContainEqual(
      expect.stringMatching(/^scheme adaptive: \d,\d{3} classes are loaded \(--scheme b overrides this\)$/),
    )
    expect(profile.instrumentation).toMatchObject({ instrumentedMethods: 1, gaps: 0 })
    expect(profile.merged).toMatchObject([{ method: 'root', calls: 3 }])
    const insisting = await record(java, '--scheme', 'b')
    expect(insisting.scheme).toBe('b')
    expect(callsByMethod(insisting).get('fix.Large.step(I)I')).toBe(6)
  })
})

// The search for reachable methods does not depend on the JDK.
forNewestJdk((jdk) => {
  it('only the root has probes if many methods are reachable', async () => {
    const profile = await record(await start(jdk, 0), '--jdk', '--include', '**')
    expect(profile.scheme).toBe('adaptive')
    expect(profile.warnings).toContainEqual(
      'scheme adaptive: scheme b may instrument more than 2,000 methods (--scheme b overrides this)',
    )
  })

  it('a large change of the program needs the consent of the user', async () => {
    const java = await start(jdk, 0)
    const byName = await refused(java, '--scheme', 'b', '--jdk')
    expect(byName.code).toBe(64)
    expect(byName.stderr).toContain('--scheme b may give probes to more than 2,000 methods')
    expect(byName.stderr).toContain('--yes')
    const implied = await refused(java, '--call-sites', '--jdk')
    expect(implied.code).toBe(64)
    expect(implied.stderr).toContain(
      '--call-sites, which needs --scheme b, may give probes to more than 2,000 methods',
    )
    const profile = await record(java, '--scheme', 'a')
    expect(profile).toMatchObject({ scheme: 'a', instrumentation: { instrumentedMethods: 2 } })
  })
})

itInFull('on a terminal, the user is asked for consent to a large change of the program', async () => {
  const asks = (lines: string[]) => lines.some((it) => it.includes('Continue? [y/N]'))
  const java = await start(newest, 0)
  const out = join(temporaryDirectory(), 'p.jfluid')
  const args = ['record', `${java.pid}`, '--root', ROOT, '--out', out, '--scheme', 'b']
  const no = Terminal.jfluid([...args, '--jdk'])
  await no.until(asks)
  no.send('n\r')
  expect((await no.exit).code).toBe(64)
  const yes = Terminal.jfluid([...args, '--jdk'], { before: 'trap : INT' })
  await yes.until(asks)
  yes.send('y\r')
  await yes.until((lines) => lines.some((it) => /\d events {2}\d+ methods instrumented/.test(it)))
  java.send('run')
  await java.line(/^done/)
  yes.send('\x03')
  expect((await yes.exit).code).toBe(0)
})
