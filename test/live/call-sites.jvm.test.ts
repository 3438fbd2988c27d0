// --call-sites in all modes, compared with the call sites and counts that the program reads from its own stack.

import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { readProfile, writeProfile } from '../../src/profile/file.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { inProcess } from '../support/in-process.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import {
  calmWarnings,
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'

const ROOT = 'fix.Sites.root'

/** Number of calls, keyed by "caller line bci callee", as printed by the program. */
type Calls = ReadonlyMap<string, number>

function callsIn(profile: JsonProfile): Calls {
  const calls = new Map<string, number>()
  const add = (node: JsonNode, caller: string): void => {
    // The program does not record calls of `note`, or calls without a Java caller. (not attributed) is a row of bytes and not of calls.
    if (!['note', '<clinit>', '(not attributed)'].includes(node.method)) {
      const key = `${caller} ${node.line ?? '-'} ${node.bci ?? '-'} ${node.method}`
      calls.set(key, (calls.get(key) ?? 0) + node.calls)
    }
    for (const child of node.children) add(child, node.method)
  }
  for (const node of profile.merged) add(node, '-')
  return calls
}

const sorted = (calls: Calls) => [...calls].sort(([a], [b]) => (a < b ? -1 : 1))

describe.each(newestOrAll)('recorded call sites on JDK $version', (jdk) => {
  let classes: string
  let expected: Calls

  const asNoted = async (classes: string): Promise<Calls> => {
    const oracle = startProcess(jdk.java, ['-cp', classes, 'fix.Sites', 'oracle'])
    await oracle.exit
    const lines = oracle.stdout().trim().split('\n')
    return new Map(
      lines.map((line) => {
        const at = line.lastIndexOf(' ')
        return [line.slice(0, at), Number(line.slice(at + 1))]
      }),
    )
  }
  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Sites')
    expected = await asNoted(classes)
  })

  const profile = async (program: readonly string[], ...flags: string[]): Promise<string> => {
    const file = join(temporaryDirectory('jfluid-sites-'), 'p.jfluid')
    const java = [jdk.java, '-cp', classes, 'fix.Sites', ...program]
    const ran = await jfluid('run', '--call-sites', '--record', file, ...flags, '--', ...java)
    expect(ran.code, ran.stderr).toBe(0)
    return file
  }
  const profileOf = async (program: readonly string[], ...flags: string[]) =>
    await readProfileJson(await profile(program, '--root', ROOT, ...flags))

  it('the test program reports the correct number of calls per call site', () => {
    expect(expected.size).toBeGreaterThan(50)
    // fib(6) makes 25 calls, of which 13 have the argument 0 or 1. One line contains two of the other calls.
    const fib = [...expected].filter(([call]) => /^fib \d+ \d+ (fib|leaf)$/.test(call))
    expect(fib.map(([, times]) => times)).toEqual([12, 12, 13])
  })

  const modes = [
    { name: 'locks', flags: ['--mode', 'locks'] },
    { name: 'alloc, scheme A', flags: ['--mode', 'alloc', '--scheme', 'a'] },
    { name: 'exact', flags: ['--mode', 'exact'] },
    { name: 'count', flags: ['--mode', 'count'] },
    { name: 'bytecodes', flags: ['--mode', 'bytecodes'] },
  ]
  it.each(FULL ? modes : modes.slice(0, 2))(
    'every call is recorded with its call site in mode $name',
    async ({ flags }) => {
      const recorded = await profileOf(['run'], ...flags)
      expect(recorded.callSites).toBe(true)
      expect(recorded.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
      expect(sorted(callsIn(recorded))).toEqual(sorted(expected))
      // The list of methods has one entry per method, independent of call sites.
      const leaf = recorded.methods.filter((it) => it.method === 'leaf')
      const all = sorted(expected).filter(([call]) => call.endsWith(' leaf'))
      expect(leaf.map((it) => it.calls)).toEqual([all.reduce((sum, [, times]) => sum + times, 0)])
    },
  )

  itInFull('sampling after every bytecode records all call sites', async () => {
    const recorded = await profileOf(['run'], '--mode', 'sample', '--every', '1bc', '--random', '0')
    expect(recorded.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
    expect(sorted(callsIn(recorded)).map(([call]) => call)).toEqual(sorted(expected).map(([call]) => call))
    expect(calmWarnings(recorded.warnings)).toEqual([])
  })

  itInFull('a task that --follow-threads records in another thread has no call site', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Hands'), 'fix.Hands'])
    await java.line(/^ready/)
    const flags = ['--root', 'fix.Hands.root', '--follow-threads', '--call-sites', '--mode', 'count']
    const recording = startRecording(java.pid, ...flags)
    await recording.started
    // The first task creates the worker, which then gets further tasks.
    java.send('fresh 20')
    await java.line(/^done fresh/)
    const { merged, instrumentation } = await recording.stop()
    expect(instrumentation).toMatchObject({ gaps: 0 })
    const below = (nodes: readonly JsonNode[]): JsonNode[] =>
      nodes.flatMap((it) => [it, ...below(it.children)])
    const calls = below(merged).filter((it) => it.method === 'call')
    expect(calls.map(({ line, bci, calls }) => [line, bci, calls])).toEqual([[undefined, undefined, 20]])
    // A call made by the task itself has a call site.
    expect(calls[0]!.children.map((it) => [it.method, typeof it.line, it.calls])).toEqual([
      ['work', 'number', 20],
    ])
  })

  itInFull('call sites are bytecode indexes if the class has no line numbers', async () => {
    const full = classes
    classes = await compileFixture(jdk, 'Sites', ['-g:none'])
    try {
      const noted = await asNoted(classes)
      const wanted: Calls = new Map(
        [...noted].map(([call, times]) => [call.replace(/^(\S+) -1 /, '$1 - '), times]),
      )
      expect(wanted.size).toBeGreaterThan(50)
      const file = await profile(['run'], '--root', ROOT, '--mode', 'count')
      expect(sorted(callsIn(await readProfileJson(file)))).toEqual(sorted(wanted))
      expect((await inProcess('report', file)).stdout).toMatch(/fix\.Sites\.fib@\d+\n/)
    } finally {
      classes = full
    }
  })

  itOnlyIf(jdk.version >= 21, 'virtual threads need JDK 21')(
    'call sites of virtual threads are recorded, reports show lines, and gate requires --call-sites in both profiles',
    async () => {
      const file = await profile(['virtual'], '--root', ROOT, '--mode', 'count')
      expect(sorted(callsIn(await readProfileJson(file)))).toEqual(sorted(expected))
      const report = await inProcess('report', file)
      expect(report.stdout).toMatch(/ 20 .*fix\.Sites\.leaf:\d+\n/)
      expect(report.stdout).toMatch(/fix\.Sites\.fib:\d+@17\n/)
      const stacks = await jfluid('export', file, '--format', 'collapsed')
      expect(stacks.stdout).toMatch(/^fix\.Sites\.root;fix\.Sites\.loops:\d+;fix\.Sites\.leaf:\d+ 20$/m)
      const { callSites: _, ...rest } = await readProfile(file)
      const plain = join(temporaryDirectory('jfluid-sites-'), 'plain.jfluid')
      await writeProfile(rest, plain)
      const gate = await inProcess('gate', file, plain)
      expect(gate.code).toBe(65)
      expect(gate.stderr).toContain(
        'the baseline has separate rows per call site, and the other profile does not',
      )
    },
  )
})
