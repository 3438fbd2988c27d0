// Attach over the debugger port of a JVM without shared files: no remains after failures of clients and networks.

import { existsSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { CarriedJar } from '../../src/session/doors/carried-jar.ts'
import { DebuggerCalls } from '../../src/session/doors/debugger-calls.ts'
import { commonCleaner, wakeIfWaiting } from '../../src/session/doors/debugger-cleaner.ts'
import { standingThread } from '../../src/session/doors/debugger-stand.ts'
import { foreseeThread, ownThread } from '../../src/session/doors/debugger-thread.ts'
import { jdwpDoor } from '../../src/session/doors/jdwp-door.ts'
import { Preparation } from '../../src/session/preparation.ts'
import { BUFFER_BYTES } from '../../src/session/recorder/buffer-size.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { compileJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import {
  callsByPath,
  jfluid,
  lines,
  readProfileJson,
  startJfluid,
  startRecording,
} from '../support/jfluid.ts'
import {
  agentThreads,
  BEATING,
  classes,
  debug,
  forwarded,
  occupied,
  portOf,
  ROOT,
  SOURCES,
  startBeating,
  startJdwp,
  suspensions,
  threadNames,
} from './jdwp-targets.ts'
import { until } from './remains.ts'

const OPTIONS = { scheme: 'b' as const, roots: [], include: [], exclude: [], jdk: false }

forEachJdk((jdk) => {
  it('after a client was killed at any step, no thread is suspended, and the debugger port is free', async () => {
    const tmp = temporaryDirectory()
    // The program is idle, so jfluid uses the JDK's Common-Cleaner thread.
    await using java = startJdwp(jdk, 'suspend=n', [
      ...[`-Djava.io.tmpdir=${tmp}`, '-cp', await classes, 'fix.KnownTree', '1', '1'],
    ])
    await java.line(/ready/)
    const out = ['--duration', '200ms', '--out', join(tmp, 'p.jfluid')]
    let debuggers = 0
    for (let at = 1, isKilled = true; isKilled; at += 3) {
      const way = await forwarded(java, debuggers)
      const client = startJfluid('record', '--jdwp', `${way.port}`, ...ROOT, ...out)
      way.onTurn = (turns) => {
        if (turns === at) process.kill(client.pid, 'SIGKILL')
      }
      isKilled = (await client.exit).signal === 'SIGKILL'
      await way.close()
      const jvm = await debug(java, debuggers + 2)
      debuggers += 2
      await until(async () => (await suspensions(jvm)) === 0)
      await until(async () => threadNames(java.pid).every((it) => it !== 'jfluid-door'))
      expect(await wakeIfWaiting(jvm, (await commonCleaner(jvm))!), `killed at turn ${at}`).toBe(true)
      await jvm.dispose()
    }
    expect(debuggers).toBeGreaterThan(20)
    java.send('run 1')
    await java.line(/done/)
  }, 300_000)
})

forEachJdk((jdk) => {
  it('an agent jar that a killed client has left is deleted when the JVM ends or by the next session', async () => {
    const tmp = temporaryDirectory()
    const left = () =>
      readdirSync(tmp)
        .filter((it) => it.startsWith('jfluid'))
        .sort()
    await using java = await startBeating(jdk, 'suspend=n', '50', `-Djava.io.tmpdir=${tmp}`)
    await java.line(/ready/)
    const jvm = await debug(java, 1)
    const calls = new DebuggerCalls(jvm)
    await foreseeThread(calls)
    const bytes = await CarriedJar.bytesInto(jvm, calls, agentJar().path)
    await ownThread(jvm, calls, await standingThread(jvm, { host: '127.0.0.1', port: 0 }, () => {}))
    const carried = await CarriedJar.into(jvm, calls, bytes)
    await jvm.dispose()
    expect(left()).toEqual([basename(carried.path)])

    const others = [
      'jfluid-carried-1.jar',
      'jfluid-carried-2.jar',
      'jfluid-carried-x.jar',
      'jfluid-carried-3.jar.txt',
    ]
    for (const name of others) writeFileSync(join(tmp, name), '')
    symlinkSync(join(tmp, 'jfluid-carried-3.jar.txt'), join(tmp, 'jfluid-carried-4.jar'))
    for (const name of others.filter((it) => it !== others[0])) utimesSync(join(tmp, name), 1, 1)
    const kept = [...left().filter((it) => it !== others[1])]
    const way = await forwarded(java, 1)
    const door = await jdwpDoor({ host: '127.0.0.1', port: way.port })
    expect(left()).toEqual(kept)
    door.link.close()
    java.send('quit')
    await java.exit
    expect(left()).toEqual(kept.filter((it) => it !== basename(carried.path)))
    await way.close()
  })
})

forEachJdk((jdk) => {
  it('if a client becomes silent before recording starts, the client is dropped, and the next client is accepted', async () => {
    await using java = await startBeating(jdk)
    await java.line(/ready/)
    const way = await forwarded(java)
    const address = { host: '127.0.0.1', port: way.port }
    const mute = await jdwpDoor(address)
    expect(mute.elsewhere).toBeDefined()
    expect(await mute.link.closed).toBe('no message from the client for some seconds')
    await until(async () => agentThreads(java.pid).length === 0)
    const next = await jdwpDoor(address)
    expect(next.woken).toBe(true)
    next.link.close()
    java.send('run 1')
    await java.line(/done/)
    await way.close()
  })
})

forEachJdk((jdk) => {
  it('the JVM returns the memory of a session to the system', async () => {
    await using java = await startBeating(jdk)
    await java.line(/ready/)
    const way = await forwarded(java)
    const address = { host: '127.0.0.1', port: way.port }
    const resident: number[] = []
    for (let session = 0; session < 12; session++) {
      const preparation = new Preparation(await jdwpDoor(address), OPTIONS)
      await preparation.prepare(() => {})
      await preparation.abandon()
      await until(async () => agentThreads(java.pid).length === 0)
      const status = readFileSync(`/proc/${java.pid}/status`, 'utf8')
      resident.push(Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]))
    }
    // The limit is the size of two event buffers, since the JVM's own memory grows as well.
    expect(resident.at(-1)! - resident[1]!, `${resident}`).toBeLessThan((2 * BUFFER_BYTES) >> 10)
    await way.close()
  })
})

it('a network failure while a thread is suspended is reported, and the thread resumes', async () => {
  await using java = await startBeating(newest)
  await java.line(/ready/)
  const way = await forwarded(java)
  const entered = jdwpDoor({ host: '127.0.0.1', port: way.port }, undefined, (phase) => {
    if (phase === 'starting a thread') way.cut()
  })
  await expect(entered).rejects.toMatchObject({
    exitCode: 75,
    message: expect.stringMatching(
      /^a thread of the JVM at 127.0.0.1:\d+ is stopped, because it did not start the agent in time: /,
    ),
  })
  await way.close()
  const next = await debug(java, 2)
  expect(await suspensions(next)).toBe(0)
  await next.dispose()
})

it('a suspended thread that has a park permit keeps this permit', async () => {
  const told = `long begin = System.nanoTime();
    java.util.concurrent.locks.LockSupport.parkNanos(3_000_000_000L);
    if (System.nanoTime() - begin < 2_500_000_000L) System.out.println("unparked");`
  const source = BEATING.replace(/while \(true\).*?;/, `while (true) { ${told} }`)
  const path = await compileJava(newest, { ...SOURCES, 'fix/Beating.java': source })
  await using java = startJdwp(newest, 'suspend=n', [...occupied(path), 'fix.Beating', '1', '1'])
  await java.line(/ready/)
  for (const nth of [1, 2]) {
    const door = await jdwpDoor({ host: '127.0.0.1', port: await portOf(java, nth) })
    expect(door.woken).toBe(nth === 2)
    await java.line(/unparked/, nth)
    door.link.close()
    door.leave()
  }
})

it('if the JVM becomes silent, the session ends, and the recorded data are kept', async () => {
  await using java = await startBeating(newest)
  await java.line(/ready/)
  const way = await forwarded(java)
  const recording = startRecording(['--jdwp', `${way.port}`], ...ROOT)
  await recording.started
  java.send('run 1')
  await java.line(/done/)
  java.send('expect')
  await java.line(/^end/)
  process.kill(java.pid, 'SIGSTOP')
  expect((await recording.process.exit).code).toBe(74)
  process.kill(java.pid, 'SIGCONT')
  expect(recording.process.stderr()).toContain('the JVM sent no events for 15 s')
  const profile = await readProfileJson(recording.file)
  // Events that the JVM wrote just before it was stopped may be lost.
  const expected = parseExpectation(java.stdout())
  const calls = [...callsByPath(profile.merged)]
  expect(calls).not.toEqual([])
  expect(calls.filter(([path, count]) => count > (expected.get(path) ?? 0))).toEqual([])
  java.send('run 1')
  await java.line(/done/, 2)
  await way.close()
})

it('the attach fails if the JVM is silent from the start, and the JVM continues', async () => {
  await using java = await startBeating(newest)
  await java.line(/ready/)
  const way = await forwarded(java)
  const preparation = new Preparation(await jdwpDoor({ host: '127.0.0.1', port: way.port }), OPTIONS)
  process.kill(java.pid, 'SIGSTOP')
  await expect(preparation.prepare(() => {})).rejects.toMatchObject({
    exitCode: 74,
    message: 'the JVM sent no events for 10 s',
  })
  await preparation.abandon(false)
  process.kill(java.pid, 'SIGCONT')
  await until(async () => agentThreads(java.pid).length === 0)
  await way.close()
})

it('a JVM without memory for the buffer reports the lack of memory and continues', async () => {
  await using java = await startBeating(newest, 'suspend=n', '50', '-XX:MaxDirectMemorySize=256k')
  await java.line(/ready/)
  const way = await forwarded(java)
  const told = await jfluid('record', '--jdwp', `${way.port}`, ...ROOT, '--out', 'none.jfluid')
  expect(told.stderr).toContain('the JVM ran out of memory during the attach: ')
  expect(told.code).toBe(75)
  java.send('run 1')
  await java.line(/done/)
  await way.close()
})

it('events of virtual threads that change carriers are reported in order', async () => {
  const main = 'Class.forName("fix.Virtual").getMethod("main", String[].class).invoke(null, (Object) args)'
  const beating = await compileJava(newest, {
    'fix/Beating.java': BEATING.replace('KnownTree.main(args)', main),
  })
  const path = `${beating}:${await compileFixture(newest, 'Virtual')}`
  await using java = startJdwp(newest, 'suspend=n', ['-cp', path, 'fix.Beating'])
  await java.line(/ready/)
  const way = await forwarded(java)
  const recording = startRecording(['--jdwp', `${way.port}`], '--root', 'fix.Virtual.task')
  await recording.started
  java.send('run 2000')
  await java.line(/done/)
  const profile = await recording.stop()
  java.send('expect 2000')
  await java.line(/^end/)
  expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
  expect(profile.instrumentation.healed).toBe(0)
  await way.close()
})

it('data that was recorded over the debugger port before the program ended is kept', async () => {
  await using java = await startBeating(newest, 'suspend=n', '2000')
  await java.line(/ready/)
  const way = await forwarded(java)
  const recording = startRecording(['--jdwp', `${way.port}`], ...ROOT)
  await recording.started
  java.send('expect')
  await java.line(/^end/)
  java.send('run 1')
  java.send('quit')
  expect((await recording.process.exit).code).toBe(74)
  expect(recording.process.stderr()).toContain('it is unknown whether the JVM has ended')
  const profile = await readProfileJson(recording.file)
  expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
  await way.close()
})

it('a JVM that cannot connect to the client reports the failure and continues', async () => {
  // The JVM runs in a separate network namespace. A UNIX socket in a shared directory connects this namespace to the namespace of the test.
  const path = join(temporaryDirectory(), 'way')
  const inside = `require('net').createServer((a) => {
    const b = require('net').connect(5005, '127.0.0.1')
    for (const it of [a, b]) it.on('error', () => {}).on('close', () => { a.destroy(); b.destroy() })
    a.pipe(b).pipe(a)
  }).listen(process.argv[1])`
  const jdwp = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:5005'
  const script = 'ip link set lo up && { "$1" -e "$2" "$3" </dev/null >/dev/null 2>&1 & shift 3; exec "$@"; }'
  await using java = startProcess('unshare', [
    ...['-rnpf', '--kill-child', 'sh', '-c', script, 'sh', process.execPath, inside, path],
    // The perf data file, named after the pid in the namespace, would remain in /tmp.
    ...[newest.java, '-XX:-UsePerfData', jdwp, '-cp', await classes, 'fix.Beating', '1', '1'],
  ])
  await java.line(/ready/)
  await until(async () => existsSync(path))
  const server = createServer((near) => {
    const far = connect(path)
    for (const it of [near, far])
      it.on('error', () => {}).on('close', () => [near, far].map((of) => of.destroy()))
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  await expect(jdwpDoor({ host: '127.0.0.1', port })).rejects.toMatchObject({
    exitCode: 69,
    message: expect.stringMatching(
      /^the JVM at 127.0.0.1:\d+ shares no directory with jfluid, and cannot connect to jfluid at 127.0.0.1:\d+: java\.net\.ConnectException: /,
    ),
  })
  java.send('run 1')
  await java.line(/done/)
  await new Promise((closed) => server.close(closed))
})
