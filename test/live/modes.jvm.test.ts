// Every mode goes with attach, record and run: one small program, profiled in each of them by each command.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, jfluid, readProfileJson } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { Terminal } from '../support/terminal.ts'

const SERVE = 'fix.Sampled.serve'
const ROOT = ['--root', SERVE] as const

/** Nodes of that name, wherever they are. */
function nodes(among: readonly JsonNode[], method: string): JsonNode[] {
  return among.flatMap((it) => (it.method === method ? [it] : nodes(it.children, method)))
}

const serve = ({ merged }: JsonProfile): JsonNode[] => nodes(merged, 'serve')
const sum = (found: readonly JsonNode[], key: 'totalNs' | 'totalBytecodes' | 'totalSamples' | 'calls') =>
  found.reduce((all, it) => all + (it[key] ?? 0), 0)

/** What is asked, and of the answer what is above zero. */
const WAYS: readonly (readonly [string, readonly string[], (profile: JsonProfile) => number])[] = [
  ['exact time', ROOT, (it) => sum(serve(it), 'totalNs')],
  ['--waits', [...ROOT, '--waits'], (it) => (it.waits === true ? sum(serve(it), 'totalNs') : 0)],
  [
    '--error-bars',
    [...ROOT, '--error-bars'],
    (it) => (it.errorBars !== undefined ? sum(serve(it), 'totalNs') : 0),
  ],
  ['--max-overhead', [...ROOT, '--max-overhead', '50%'], (it) => it.overhead?.budget ?? 0],
  ['--mode locks', [...ROOT, '--mode', 'locks'], (it) => (it.waits === true ? sum(serve(it), 'calls') : 0)],
  ['--mode bytecodes', [...ROOT, '--mode', 'bytecodes'], (it) => sum(serve(it), 'totalBytecodes')],
  ['--mode count', [...ROOT, '--mode', 'count'], (it) => sum(serve(it), 'calls')],
  // It allocates nothing.
  ['--mode alloc', [...ROOT, '--mode', 'alloc'], (it) => it.allocation?.sampleEvery ?? 0],
  ['--liveness', [...ROOT, '--mode', 'alloc', '--liveness'], (it) => (it.allocation?.liveness ? 1 : 0)],
  ['samples by time', [...ROOT, '--mode', 'sample'], (it) => sum(serve(it), 'totalSamples')],
  [
    'samples by bytecodes',
    [...ROOT, '--mode', 'sample', '--every', '100000bc'],
    (it) => sum(serve(it), 'totalSamples'),
  ],
  ['--region', ['--region', SERVE], (it) => it.regions?.[0]?.count ?? 0],
  ['the whole JVM', ['--mode', 'sample'], (it) => sum(serve(it), 'totalSamples')],
  [
    'the whole JVM by dumps',
    ['--mode', 'sample', '--sampler', 'stacks'],
    (it) => sum(serve(it), 'totalSamples'),
  ],
  [
    'a root, sampled by the JVM',
    [...ROOT, '--mode', 'sample', '--sampler', 'jfr'],
    (it) => sum(serve(it), 'totalSamples'),
  ],
]

/** By `record` each way is tried; by the other commands those that differ in more than what is recorded, and all of them where all is asked for. */
const ONE_OF_EACH_KIND: ReadonlySet<string> = new Set([
  'exact time',
  '--max-overhead',
  '--mode bytecodes',
  'samples by time',
  '--region',
  'the whole JVM',
  'a root, sampled by the JVM',
])

forNewestJdk((jdk) => {
  let classes: string
  let java: JavaProcess
  const file = (): string => join(temporaryDirectory('jfluid-modes-'), 'p.jfluid')

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Sampled')
    java = startJava(jdk, ['-cp', classes, 'fix.Sampled'])
    await java.line(/^ready/)
  })

  afterAll(async () => {
    java.child.stdin?.end() // its own end removes what its flight recorder has left; being killed does not
    await java.exit
  })

  describe.each(WAYS)('%s', { timeout: 60_000 }, (name, flags, answer) => {
    const isOne = FULL || ONE_OF_EACH_KIND.has(name)

    it('record', async () => {
      const out = file()
      const ran = await jfluid('record', `${java.pid}`, ...flags, '--duration', '500ms', '--out', out)
      expect(ran.code, ran.stderr).toBe(0)
      expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
    })

    if (!isOne) return

    it('run', async () => {
      const out = file()
      const program = [jdk.java, '-cp', classes, 'fix.Sampled', '1']
      const ran = await jfluid('run', ...flags, '--record', out, '--', ...program)
      expect(ran.code, ran.stderr).toBe(0)
      expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
    })

    it('attach', async () => {
      const out = file()
      const terminal = Terminal.jfluid(['attach', `${java.pid}`, ...flags, '--out', out])
      // Of the whole JVM, what is open is where most samples are: where a thread waits for a read, by dumps.
      const seen = flags.includes(SERVE) ? SERVE : 'java.lang.Thread.run'
      // In a row that counts something, and not in what is said of a root that is yet to be called.
      await terminal.until((lines) =>
        lines.slice(2, -2).some((line) => line.includes(seen) && /[1-9]/.test(line.replace(seen, ''))),
      )
      terminal.send('q')
      const { code } = await terminal.exit
      expect(code, terminal.scrollback().join('\n')).toBe(0)
      expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
    })
  })
})
