// Trees that threads keep themselves (--mode count, --mode bytecodes), against a program that counts its own calls: threads that come and
// go, so that their blocks have several owners, more contexts than there are blocks for at first, and virtual threads, which
// keep none.

import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, jfluid, readProfileJson } from '../support/jfluid.ts'

function callsOf({ merged }: JsonProfile): Record<string, number> {
  const sums: Record<string, number> = { root: 0, left: 0, right: 0 }
  const visit = ({ method, calls, children }: JsonNode): void => {
    sums[method] = (sums[method] ?? 0) + calls
    for (const child of children) visit(child)
  }
  for (const node of merged) visit(node)
  return sums
}

describe.each(newestOrAll)('JDK $version', (jdk) => {
  let classes: string

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Crowd')
  })

  const run = async (mode: string, ...args: string[]) => {
    const file = join(temporaryDirectory('jfluid-trees-'), 'p.jfluid')
    const program = [jdk.java, '-cp', classes, 'fix.Crowd', ...args]
    const flags = ['--root', 'fix.Crowd.root', '--mode', mode, '--include', 'fix.**']
    const ran = await jfluid('run', ...flags, '--record', file, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const said = /calls root (\d+) left (\d+) right (\d+)/.exec(ran.stdout)
    if (said === null) throw new Error(`the program said ${ran.stdout}`)
    const [root, left, right] = said.slice(1).map(Number)
    return { profile: await readProfileJson(file), said: { root, left, right } }
  }

  it.each(['count', 'bytecodes'])(
    '%s: each call of each thread, up to the end of the program',
    async (mode) => {
      const { profile, said } = await run(mode, '2000', '20', '6')
      expect(callsOf(profile)).toEqual(said)
      expect(profile.instrumentation).toMatchObject({ gaps: 0 })
      expect(profile.threads.length).toBeGreaterThan(2000)
    },
  )

  it('in more contexts than there is room for at first, which the client makes while the thread waits', async () => {
    const { profile, said } = await run('count', '1', '1', '18')
    expect(callsOf(profile)).toEqual(said)
    expect(profile.instrumentation).toMatchObject({ gaps: 0 })
  })
})
