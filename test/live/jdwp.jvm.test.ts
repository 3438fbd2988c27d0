// Attach over the debugger port: JVMs that refuse an attach are profiled like others, and obstacles are reported.

import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, it, vi } from 'vitest'
import { granted, JdwpTarget } from '../../src/jdwp-client/index.ts'
import { commonCleaner, wakeIfWaiting } from '../../src/session/doors/debugger-cleaner.ts'
import { examineDebugged } from '../../src/session/doors/debugger-doctor.ts'
import { statusOf } from '../../src/session/doors/doctor.ts'
import { jdwpDoor } from '../../src/session/doors/jdwp-door.ts'
import { BUFFER_BYTES } from '../../src/session/recorder/buffer-size.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileJava } from '../support/java-process.ts'
import { forEachJdk, forNewestJdk, newest } from '../support/jdks.ts'
import { callsByPath, jfluid, lines, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { problemsOf } from '../support/schema.ts'
import {
  BEATING,
  classes,
  codeOfTask,
  debug,
  forwarded,
  OCCUPIED,
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

forEachJdk((jdk) => {
  it('a JVM with attach disabled is profiled exactly over its debugger port, and a later debugger finds the original code', async () => {
    await using java = await startBeating(jdk)
    await java.line(/ready/)
    const told = await jfluid('doctor', '--jdwp', `${await portOf(java)}`, '--json', ...ROOT)
    expect(problemsOf('doctor', told.stdout), told.stderr).toEqual([])
    const { reach, ...doctor } = JSON.parse(told.stdout)
    expect(doctor, told.stderr).toMatchObject({
      pid: java.pid,
      mainClass: 'fix.Beating',
      go: true,
      exitCode: 0,
    })
    expect(doctor.classes).toEqual(
      expect.arrayContaining(['fix.Beating', 'fix.KnownTree', 'fix.KnownTree$Cube']),
    )
    expect(reach.callees).toEqual(expect.arrayContaining(['fix.KnownTree.leaf', 'fix.KnownTree$Cube.area']))
    const before = await debug(java, 2)
    expect(granted(await before.virtualMachine.classesBySignature('Ljfluid/Boot;'), 'the agent')).toEqual([])
    expect(await suspensions(before)).toBe(0)
    const own = await codeOfTask(before)
    await before.dispose()

    const address = `127.0.0.1:${await portOf(java, 3)}`
    const recording = startRecording(['--jdwp', address], ...ROOT, '--scheme', 'a')
    await recording.started
    const during = await debug(java, 4)
    expect(await codeOfTask(during)).not.toBe(own)
    expect(await suspensions(during)).toBe(0)
    await during.dispose()
    java.send('run 1')
    await java.line(/done/)
    const profile = await recording.stop()
    expect(recording.process.stderr()).toMatch(
      /^detached from \d+ in .*restored: \d+ classes verified as original/m,
    )
    java.send('expect')
    await java.line(/^end/)
    expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
    // `Stop` is loaded only when the task runs, so it is missing in the estimate.
    expect(reach.schemeA.methods).toBe(profile.instrumentation.instrumentedMethods - 1)
    expect(java.stderr()).toBe('')

    // A client wakes the idle agent in this JVM and is killed.
    const again = startRecording(['--jdwp', `${await portOf(java, 5)}`], ...ROOT)
    await again.started
    await again.process.kill()
    const after = await debug(java, 6)
    await until(async () => (await codeOfTask(after)) === own)
    await after.dispose()
    java.send('run 1')
    await java.line(/done/, 2)
  })
})

it('a JVM that waits for a debugger at startup runs after the attach', async () => {
  await using java = await startBeating(newest, 'suspend=y')
  const phases: string[] = []
  const address = { host: '127.0.0.1', port: await portOf(java) }
  const door = await jdwpDoor(address, undefined, (phase) => phases.push(phase))
  expect(phases).toContain('the JVM was waiting for a debugger at its start, and runs now')
  expect(door.pid).toBe(java.pid)
  door.link.close()
  door.leave()
  await java.line(/ready/)
})

forEachJdk((jdk) => {
  it('only a JDK thread is suspended, for a few round trips, and the thread jfluid-door ends afterwards', async () => {
    // In this program only a JDK thread calls methods.
    await using java = startJdwp(jdk, 'suspend=n', ['-cp', await classes, 'fix.KnownTree', '1', '1'])
    await java.line(/ready/)
    const way = await forwarded(java)
    const turns: Record<string, number> = {}
    const door = await jdwpDoor({ host: '127.0.0.1', port: way.port }, undefined, (phase) => {
      turns[phase] = way.turns
    })
    expect(door.elsewhere).toBeDefined()
    expect(turns['loading the agent']! - turns['starting a thread']!).toBeLessThan(5)
    await until(async () => threadNames(java.pid).every((it) => it !== 'jfluid-door'))
    door.link.close()
    java.send('run 1')
    await java.line(/done/)
    await way.close()
  })
})

forEachJdk((jdk) => {
  it('the suspended JDK thread is interrupted only while the thread waits, and not during a cleanup', async () => {
    await using waits = startJdwp(jdk, 'suspend=n', ['-cp', await classes, 'fix.KnownTree', '1', '1'])
    await waits.line(/ready/)
    const jvm = await debug(waits, 1)
    const cleaner = (await commonCleaner(jvm))!
    const threads = jvm.threadReference
    const interrupt = threads.interrupt.bind(threads)
    const stood: number[] = []
    vi.spyOn(threads, 'interrupt').mockImplementation(async (thread) => {
      stood.push(granted(await threads.suspendCount(thread), 'suspensions'))
      return await interrupt(thread)
    })
    expect(await wakeIfWaiting(jvm, cleaner)).toBe(true)
    expect(stood).toEqual([1])
    expect(await suspensions(jvm)).toBe(0)
    await jvm.dispose()

    await using works = startJdwp(jdk, 'suspend=n', [
      ...occupied(await classes),
      ...['fix.KnownTree', '1', '1'],
    ])
    await works.line(/ready/)
    const other = await debug(works, 1)
    expect(await wakeIfWaiting(other, (await commonCleaner(other))!)).toBe(false)
    expect(await suspensions(other)).toBe(0)
    await other.dispose()
    works.send('run 1')
    await works.line(/done/)
    expect(works.stdout()).not.toContain('interrupted')
  })
})

forNewestJdk((jdk) => {
  it('a program without the module java.instrument gets this module without a warning', async () => {
    // With this option the JVM loads no native library for a module without permission for native access. A later JDK is planned to have
    // this as its default.
    const options = ['--limit-modules', 'java.base,jdk.jdwp.agent', '--illegal-native-access=deny']
    await using java = await startBeating(
      jdk,
      'suspend=n',
      '50',
      ...(jdk.version < 24 ? options.slice(0, 2) : options),
    )
    await java.line(/ready/)
    const door = await jdwpDoor({ host: '127.0.0.1', port: await portOf(java) })
    door.link.close()
    door.leave()
    java.send('run 1')
    await java.line(/done/)
    expect(java.stderr()).toBe('')
  })
})

itInFull('a stopped JVM is reported, and accepts the next debugger after the JVM continues', async () => {
  await using java = startJdwp(newest, 'suspend=n', ['-cp', await classes, 'fix.KnownTree', '1', '1'])
  await java.line(/ready/)
  const address = { host: '127.0.0.1', port: await portOf(java) }
  process.kill(java.pid, 'SIGSTOP')
  await expect(jdwpDoor(address)).rejects.toMatchObject({
    exitCode: 75,
    message: `cannot attach to JVM ${java.pid}: it is stopped (SIGSTOP)`,
  })
  process.kill(java.pid, 'SIGCONT')
  await (await debug(java, 2)).dispose()
  java.send('run 1')
  await java.line(/done/)
})

it('a thread that holds contended monitors is not suspended', async () => {
  const locked = BEATING.replace(/java\.util.*?;/, 'synchronized (fix.Beating.class) { $& }')
  const path = await compileJava(newest, { ...SOURCES, 'fix/Beating.java': locked })
  await using java = startJdwp(newest, 'suspend=n', [...occupied(path), 'fix.Beating', '1', '1'])
  await java.line(/ready/)
  const address = { host: '127.0.0.1', port: await portOf(java) }
  await expect(jdwpDoor(address, 2000)).rejects.toThrow(
    'has no thread that jfluid can use: each thread that called a method within 2 s holds a lock',
  )
  java.send('run 1')
  await java.line(/done/)
})

const carriedJars = (): string[] => readdirSync('/tmp').filter((it) => /^jfluid-carried-\d+\.jar$/.test(it))

forNewestJdk((jdk) => {
  itInFull(
    'a JVM that shares no files with the client gets the agent and sends all events over the network',
    async () => {
      // The event buffer does not count against the limit of direct memory.
      await using java = await startBeating(jdk, 'suspend=n', '2000', '-XX:MaxDirectMemorySize=1m')
      await java.line(/ready/)
      const way = await forwarded(java)
      const { findings, pid } = await examineDebugged({ host: '127.0.0.1', port: way.port }, undefined)
      expect([pid, statusOf(findings)]).toEqual([null, 0])
      expect(findings.find((it) => it.check === 'container')?.text).toContain(
        'connects back to 127.0.0.1, not encrypted',
      )
      const jars = carriedJars()
      const recording = startRecording(['--jdwp', `${way.port}`], ...ROOT)
      await recording.started
      expect(carriedJars().filter((it) => !jars.includes(it))).toEqual([])
      java.send('run 1')
      await java.line(/done/)
      const profile = await recording.stop()
      expect(recording.process.stderr()).toMatch(
        /^detached from \d+ in .*restored: \d+ classes verified as original/m,
      )
      java.send('expect')
      await java.line(/^end/)
      expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
      expect(profile.events.count).toBeGreaterThan(100_000)
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      expect(profile.kept.outsideBytes).toBeGreaterThan(BUFFER_BYTES)
      expect(java.stderr()).toBe('')
      await way.close()
    },
  )
})

forNewestJdk((jdk) => {
  it.each(['SIGKILL' as const, ...(FULL ? ['SIGSTOP' as const] : [])])(
    'an agent that shares no files with its client drops a client that receives %s',
    async (signal) => {
      await using java = await startBeating(jdk)
      await java.line(/ready/)
      const way = await forwarded(java)
      const recording = startRecording(['--jdwp', `${way.port}`], ...ROOT)
      await recording.started
      const own = await debug(java, 2)
      const probed = await codeOfTask(own)
      process.kill(recording.process.pid, signal)
      await until(async () => (await codeOfTask(own)) !== probed)
      await own.dispose()
      await recording.process.kill()
      java.send('run 1')
      await java.line(/done/)
      await way.close()
    },
  )
})

it('a JVM in which no thread calls a method is reported as idle and left unchanged', async () => {
  await using java = startJdwp(newest, 'suspend=n', [...occupied(await classes), 'fix.KnownTree', '1', '1'])
  await java.line(/ready/)
  const address = { host: '127.0.0.1', port: await portOf(java) }
  await expect(jdwpDoor(address, 300)).rejects.toThrow(
    `the JVM at 127.0.0.1:${address.port} is idle: no thread called a method within 0.3 s`,
  )
  const jvm = await debug(java, 2)
  expect(await suspensions(jvm)).toBe(0)
  await jvm.dispose()
  java.send('run 1')
  await java.line(/done/)
})

it('a Common-Cleaner thread that is working is not suspended, because it may hold a lock', async () => {
  const parks = `synchronized (Occupied.class) {
          while (true) java.util.concurrent.locks.LockSupport.parkNanos(5_000_000L);
        }`
  const atWork = OCCUPIED.replace('new CountDownLatch(1).await();', `if (args != null) ${parks}`)
    .replace('} catch (InterruptedException e) {', '} finally {')
    .replace('"interrupted"', '"over"')
  const path = await compileJava(newest, { ...SOURCES, 'fix/Occupied.java': atWork })
  await using java = startJdwp(newest, 'suspend=n', [...occupied(path), 'fix.KnownTree', '1', '1'])
  await java.line(/ready/)
  const address = { host: '127.0.0.1', port: await portOf(java) }
  // A timeout of 2 s is long enough for jfluid to try the methods of all classes as well.
  await expect(jdwpDoor(address, 2000)).rejects.toThrow('is idle: no thread called a method within 2 s')
  const jvm = await debug(java, 2)
  expect(await suspensions(jvm)).toBe(0)
  await jvm.dispose()
  java.send('run 1')
  await java.line(/done/)
  expect(java.stdout()).not.toContain('over')
})

it('a connected debugger stays connected and is named in the error', async () => {
  await using java = startJdwp(newest, 'suspend=n', ['-cp', await classes, 'fix.KnownTree', '1', '1'])
  const port = await portOf(java)
  await using jvm = await JdwpTarget.connect(port)
  await expect(jdwpDoor({ host: '127.0.0.1', port })).rejects.toMatchObject({
    exitCode: 75,
    message: `another debugger is connected to the JVM at 127.0.0.1:${port}`,
  })
  expect((await jvm.virtualMachine.version()).ok).toBe(true)
})

it('a port that does not belong to a JVM is refused', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  const address = { host: '127.0.0.1', port }
  await expect(jdwpDoor(address)).rejects.toMatchObject({
    exitCode: 76,
    message: `no JVM answers as a debug port at 127.0.0.1:${port}: it does not speak JDWP`,
  })
  await new Promise((closed) => server.close(closed))
  await expect(jdwpDoor(address)).rejects.toMatchObject({
    exitCode: 68,
    message: expect.stringContaining('ECONNREFUSED'),
  })
})
