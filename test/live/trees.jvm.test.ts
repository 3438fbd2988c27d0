// Per-thread trees (--mode count, --mode bytecodes), compared with a program that counts its own calls: short-lived threads, more
// contexts than initial blocks, and virtual threads, which have no tree of their own.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { cli, type JsonNode, type JsonProfile, readProfileJson } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'

function callsOf({ merged }: JsonProfile): Record<string, number> {
  const sums: Record<string, number> = { root: 0, left: 0, right: 0 }
  const visit = ({ method, calls, children }: JsonNode): void => {
    sums[method] = (sums[method] ?? 0) + calls
    for (const child of children) visit(child)
  }
  for (const node of merged) visit(node)
  return sums
}

describe.each(newestOrAll)('trees kept by target threads, JDK $version', (jdk) => {
  let classes: string

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Crowd')
  })

  const run = async (mode: string, ...args: string[]) => {
    const file = join(temporaryDirectory('jfluid-trees-'), 'p.jfluid')
    const program = [jdk.java, '-cp', classes, 'fix.Crowd', ...args]
    // An autosave of 10,000 threads would take the client one second, in which threads might not get an answer.
    const flags = ['--root', 'fix.Crowd.root', '--mode', mode, '--include', 'fix.**', '--autosave', 'off']
    const logs = temporaryDirectory('jfluid-trees-')
    const env = { JFLUID_DEBUG: 'recorder', JFLUID_DEBUG_DIR: logs }
    const words = [cli, 'run', ...flags, '--record', file, '--', ...program]
    const p = startProcess(process.execPath, words, { env })
    const { code } = await p.exit
    expect(code, p.stderr()).toBe(0)
    const said = /calls root (\d+) left (\d+) right (\d+)/.exec(p.stdout())
    if (said === null) throw new Error(`the program said ${p.stdout()}`)
    const [root, left, right] = said.slice(1).map(Number)
    const log = readdirSync(logs).map((it) => readFileSync(join(logs, it), 'utf8'))
    return { profile: await readProfileJson(file), said: { root, left, right }, log: log.join('') }
  }

  it.each(FULL ? ['count', 'bytecodes'] : ['count'])(
    'in mode %s, all calls of each thread are counted until the program ends',
    async (mode) => {
      const { profile, said } = await run(mode, '2000', '20', '6')
      expect(callsOf(profile)).toEqual(said)
      expect(profile.instrumentation).toMatchObject({ gaps: 0 })
      expect(profile.threads.length).toBeGreaterThan(2000)
    },
  )

  itInFull(
    'the calls of more threads than tree blocks are counted, because blocks of ended threads are reused',
    async () => {
      const threads = 10_000
      const { profile, said, log } = await run('count', `${threads}`, '20', '6', '1')
      expect(profile.instrumentation).toMatchObject({ gaps: 0 })
      expect(callsOf(profile)).toEqual(said)
      const [, blocks, released] = /(\d+) blocks, given back (\d+) times/.exec(log) ?? []
      expect(Number(released)).toBeGreaterThan(threads / 2)
      expect(Number(blocks)).toBeLessThan(threads)
    },
  )

  it('a thread waits while the client creates more tree blocks, and all contexts are counted', async () => {
    const { profile, said } = await run('count', '1', '1', '18')
    expect(callsOf(profile)).toEqual(said)
    expect(profile.instrumentation).toMatchObject({ gaps: 0 })
  })
})
