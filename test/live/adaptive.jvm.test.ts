// Scheme adaptive: roots and methods named by --time have exact times, and samples show the methods below. No application thread waits.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { compileFixture, compileLate } from '../fixtures/fixtures.ts'
import { countCalls } from '../oracle/oracle.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type JsonNode, jfluid, startRecording, sumsAreExact } from '../support/jfluid.ts'
import { until } from './remains.ts'

function* rows(nodes: readonly JsonNode[]): Generator<JsonNode> {
  const left = [...nodes]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next
    for (const child of next.children) left.push(child)
  }
}

forEachJdk((jdk) => {
  it('calls of roots and timed methods are counted exactly, and the methods below them are sampled', async () => {
    const classpath = await compileFixture(jdk, 'KnownTree')
    const program = { mainClass: 'fix.KnownTree', args: ['1', '3'], root: 'fix.KnownTree.task' }
    const oracle = await countCalls({ jdk, classpath, ...program, send: ['run', 'quit'], include: ['fix.*'] })
    const ofMethod = (name: string) =>
      [...oracle.contexts]
        .filter(([path]) => path.split(';').at(-1)!.startsWith(`fix.KnownTree.${name}(`))
        .reduce((sum, [, calls]) => sum + calls, 0)
    const java = startJava(jdk, ['-cp', classpath, program.mainClass, ...program.args])
    await java.line(/^ready/)
    const times = ['--time', 'KnownTree.mix', '--time', 'KnownTree.leaf']
    const recording = startRecording(java.pid, '--root', program.root, '--scheme', 'adaptive', ...times)
    await recording.started
    java.send('run')
    await java.line(/^done/)
    const profile = await recording.stop()
    const timed = [...rows(profile.merged)].filter((it) => it.known === 'timed')
    const calls = (name: string) =>
      timed.filter((it) => it.method === name).reduce((sum, it) => sum + it.calls, 0)
    expect(new Set(timed.map((it) => it.method))).toEqual(new Set(['task', 'mix', 'leaf']))
    for (const name of ['task', 'mix', 'leaf']) expect(calls(name), name).toBe(ofMethod(name))
    expect(sumsAreExact(profile.merged)).toBe(true)
    expect(profile.scheme).toBe('adaptive')
    expect(profile.instrumentation).toMatchObject({ gaps: 0, redefinitions: 1, instrumentedMethods: 3 })
    expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
  })

  it('methods that the user adds to the timed methods during a recording are counted exactly from then on', async () => {
    const classpath = await compileFixture(jdk, 'KnownTree')
    const program = { mainClass: 'fix.KnownTree', args: ['1', '3'], root: 'fix.KnownTree.task' }
    const oracle = await countCalls({ jdk, classpath, ...program, send: ['run', 'quit'], include: ['fix.*'] })
    const java = startJava(jdk, ['-cp', classpath, program.mainClass, ...program.args])
    await java.line(/^ready/)
    const options = sessionOptions({ root: [program.root], scheme: 'adaptive' })
    const session = await Session.start(await attachDoor(java.pid), options)
    // The class of `leaf` is loaded, and `leaf` has no probes yet.
    expect(await session.pauseToTime('fix.KnownTree.leaf')).toBeGreaterThan(0)
    expect(await session.time('fix.KnownTree.leaf')).toBe(1)
    await expect(session.pauseToTime('fix.KnownTree.leaf')).rejects.toThrow(/has exact times already/)
    await expect(session.pauseToTime(program.root)).rejects.toThrow(/has exact times already/)
    await expect(session.pauseToTime('java.util.HashMap.get')).rejects.toThrow(/is a method of the JDK/)
    await expect(session.time('fix.KnownTree.nothing')).rejects.toThrow(
      /cannot have probes: the method does not exist/,
    )
    java.send('run')
    await java.line(/^done/)
    await session.detach()
    const { merged, methodNames } = await session.profile()
    await session.close()
    const calls = (name: string) => {
      let sum = 0
      for (const [node, id] of merged.method.entries())
        if (methodNames[id]!.method === name) sum += merged.metrics.calls![node]!
      return sum
    }
    const counted = (name: string) =>
      [...oracle.contexts]
        .filter(([path]) => path.split(';').at(-1)!.startsWith(`fix.KnownTree.${name}(`))
        .reduce((sum, [, of]) => sum + of, 0)
    expect([calls('task'), calls('leaf')]).toEqual([counted('task'), counted('leaf')])
  })

  it('a root is found when its class is loaded, and all later calls are counted', async () => {
    const { classes, a, b } = await compileLate(jdk)
    const java = startJava(jdk, ['-cp', classes, 'fix.Late', a, b])
    await java.line(/ready/)
    const options = sessionOptions({ root: ['fix.late.Greeter.greet'], scheme: 'adaptive' })
    const session = await Session.start(await attachDoor(java.pid), options)
    java.send('inside a')
    await java.line(/done/)
    // If the class of a root is not loaded yet, jfluid looks for the class once a second.
    let runs = 1
    await until(async () => {
      java.send('run')
      await java.line(/done/, ++runs)
      return (await session.status()).calledMethods === 1
    })
    await session.detach()
    const { merged } = await session.profile()
    await session.close()
    expect(merged.metrics.calls![0]).toBeGreaterThan(0)
  })

  it('the cost of probes is measured while the session records', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'])
    await java.line(/ready/)
    const options = sessionOptions({ root: ['fix.Ticker.work'], scheme: 'adaptive' })
    const session = await Session.start(await attachDoor(java.pid), options)
    await until(async () => session.overheadNs > 0)
    await session.detach()
    const { innerNs, outerNs, readNs } = (await session.profile()).calibration
    await session.close()
    for (const ns of [innerNs, readNs]) expect(ns).toSatisfy((it: number) => it > 0 && it < 1e6)
    expect(outerNs).toBeLessThan(1e6) // may be 0: the difference of the times of two loops
  })

  it('if the class of a root does not exist, similar class names are suggested', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '1', '3'])
    await java.line(/^ready/)
    const out = ['--duration', '1s', '--out', join(temporaryDirectory(), 'p.jfluid')]
    const ran = await jfluid(
      'record',
      `${java.pid}`,
      '--root',
      'fix.KnownTre.task',
      '--scheme',
      'adaptive',
      ...out,
    )
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toMatch(/fix\.KnownTree\.task/)
  })

  it('scheme adaptive refuses options that need every call to be recorded', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'tiny'])
    await java.line(/^ready/)
    const ran = await jfluid(
      'record',
      `${java.pid}`,
      '--root',
      'fix.Ticker.work',
      '--scheme',
      'adaptive',
      '--call-sites',
    )
    expect(ran).toMatchObject({ code: 64 })
    expect(ran.stderr).toMatch(/--call-sites needs the calls of all methods/)
  })
})
