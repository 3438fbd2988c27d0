// The most frequent use in one test: attach, live tree, exact counts, detach with verification, and a killed client.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { countCalls } from '../oracle/oracle.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import {
  callsByPath,
  lines,
  readProfileJson,
  startJfluid,
  startRecording,
  sumsAreExact,
} from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { remainsOf, until } from './remains.ts'

const OWN = 'Lfix/'

forEachJdk((jdk) => {
  it('attach shows the tree of a busy service, and key q restores and verifies the code of the service', async () => {
    const { java, jvm } = await startDebuggable(jdk, [
      ...['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'],
    ])
    const before = await liveCode(jvm, OWN)
    const terminal = Terminal.jfluid(['attach', `${java.pid}`, '--root', 'fix.Ticker.work'])
    await terminal.until((screen) => screen.some((line) => /[1-9]\S* .*fix\.Ticker\.step/.test(line)))
    expect(probed(await liveCode(jvm, OWN))).not.toEqual([])
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    const said = terminal.scrollback().join('\n')
    // The terminal may wrap the line at any character.
    expect(said.replaceAll(/\s/g, '')).toMatch(
      /restored:\d+class(?:es)?verifiedasoriginal,nothingofjfluidremains/,
    )
    expect(said).toMatch(/fix\.Ticker\.step/)
    expect(await liveCode(jvm, OWN)).toEqual(before)
    await jvm.dispose()
  })

  it('record counts each call in each context, as a debugger does', async () => {
    const classpath = await compileFixture(jdk, 'KnownTree')
    const program = { mainClass: 'fix.KnownTree', args: ['1', '3'], root: 'fix.KnownTree.task' }
    const oracle = await countCalls({ jdk, classpath, ...program, send: ['run', 'quit'], include: ['fix.*'] })
    const java = startJava(jdk, ['-cp', classpath, program.mainClass, ...program.args])
    await java.line(/^ready/)
    const recording = startRecording(java.pid, '--root', program.root)
    await recording.started
    java.send('run')
    await java.line(/^done/)
    const profile = await recording.stop()
    expect(oracle.contexts.size).toBeGreaterThan(20)
    expect(lines(callsByPath(profile.merged))).toEqual(lines(oracle.contexts))
    expect(sumsAreExact(profile.merged)).toBe(true)
    expect(profile.instrumentation.gaps).toBe(0)
    expect(profile.detach?.left).toEqual([])
  })

  it('jfluid run profiles a program from its start to its end', async () => {
    const file = join(temporaryDirectory(), 'p.jfluid')
    const classes = await compileFixture(jdk, 'Throws')
    const p = startJfluid(
      ...['run', '--root', 'fix.Throws.root', '--record', file],
      ...['--', jdk.java, '-cp', classes, 'fix.Throws', '4'],
    )
    for (const line of ['run', 'expect', 'quit']) p.send(line)
    expect((await p.exit).code, p.stderr()).toBe(0)
    const { merged, instrumentation } = await readProfileJson(file)
    expect(lines(callsByPath(merged)), p.stderr()).toEqual(lines(parseExpectation(p.stdout())))
    expect(instrumentation.gaps).toBe(0)
    expect(sumsAreExact(merged)).toBe(true)
  })

  it('a client that is killed leaves the service running with its original code', async () => {
    const { java, jvm } = await startDebuggable(jdk, [
      ...['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'],
    ])
    const before = await liveCode(jvm, OWN)
    const recording = startRecording(java.pid, '--root', 'fix.Ticker.work')
    await recording.started
    await until(async () => probed(await liveCode(jvm, OWN)).length > 0)
    await recording.process.kill()
    await until(async () => probed(await liveCode(jvm, OWN)).length === 0)
    expect(await liveCode(jvm, OWN)).toEqual(before)
    expect(await remainsOf(java.pid, [recording.process.pid])).toEqual([])
    java.send('rate 100')
    expect(Number(/^rate (\d+)/.exec(await java.line(/^rate/))?.[1])).toBeGreaterThan(0)
    await jvm.dispose()
  })
})
