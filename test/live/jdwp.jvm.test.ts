// The way in over the debugger's port: JVMs that take no attach are profiled as others are, and what is in the way is said.

import { existsSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { basename, join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { granted, JdwpTarget, type TypeId } from '../../src/jdwp-client/index.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { CarriedJar } from '../../src/session/doors/carried-jar.ts'
import { DebuggerCalls } from '../../src/session/doors/debugger-calls.ts'
import { commonCleaner, wakeIfWaiting } from '../../src/session/doors/debugger-cleaner.ts'
import { examineDebugged } from '../../src/session/doors/debugger-doctor.ts'
import { standingThread } from '../../src/session/doors/debugger-stand.ts'
import { foreseeThread, ownThread } from '../../src/session/doors/debugger-thread.ts'
import { statusOf } from '../../src/session/doors/doctor.ts'
import { jdwpDoor } from '../../src/session/doors/jdwp-door.ts'
import { Preparation } from '../../src/session/preparation.ts'
import { BUFFER_BYTES } from '../../src/session/recorder/buffer-size.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import {
  compileJava,
  type JavaProcess,
  startJava,
  startProcess,
  temporaryDirectory,
} from '../support/java-process.ts'
import { forEachJdk, forNewestJdk, type Jdk, newest, oldest } from '../support/jdks.ts'
import {
  callsByPath,
  jfluid,
  lines,
  readProfileJson,
  startJfluid,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { until } from './remains.ts'

/** `fix.KnownTree`, whose main thread waits for input, and a thread that does something now and then. */
const BEATING = `
  package fix;
  public class Beating {
    public static void main(String[] args) throws Exception {
      Thread beat = new Thread(() -> {
        while (true) java.util.concurrent.locks.LockSupport.parkNanos(10_000_000);
      }, "beat");
      beat.setDaemon(true);
      beat.start();
      KnownTree.main(args);
    }
  }`

/** The main class that is named, in a JVM whose own thread that can be made to come by has something else to do. */
const OCCUPIED = `
  package fix;
  import java.lang.ref.Cleaner;
  import java.util.Arrays;
  import java.util.concurrent.CountDownLatch;
  public class Occupied {
    public static void main(String[] args) throws Exception {
      CountDownLatch busy = new CountDownLatch(1);
      Cleaner common = (Cleaner) Class.forName("jdk.internal.ref.CleanerFactory").getMethod("cleaner").invoke(null);
      common.register(new Object(), () -> {
        busy.countDown();
        try {
          new CountDownLatch(1).await();
        } catch (InterruptedException e) {
          System.out.println("interrupted");
        }
      });
      while (busy.getCount() > 0) {
        System.gc();
        Thread.sleep(10);
      }
      String[] its = Arrays.copyOfRange(args, 1, args.length);
      Class.forName(args[0]).getMethod("main", String[].class).invoke(null, (Object) its);
    }
  }`

const KNOWN_TREE = readFileSync(new URL('../fixtures/KnownTree.java', import.meta.url), 'utf8')
const SOURCES = {
  'fix/Beating.java': BEATING,
  'fix/KnownTree.java': KNOWN_TREE,
  'fix/Occupied.java': OCCUPIED,
}
const classes = compileJava(oldest, SOURCES)

const occupied = (path: string): string[] => [
  ...['--add-exports', 'java.base/jdk.internal.ref=ALL-UNNAMED', '-cp', path, 'fix.Occupied'],
]

const ROOT = ['--root', 'fix.KnownTree.task']

async function startBeating(
  jdk: Jdk,
  how = 'suspend=n',
  scale = '50',
  ...options: readonly string[]
): Promise<JavaProcess> {
  return startJdwp(jdk, how, [...options, '-cp', await classes, 'fix.Beating', '4', scale])
}

function startJdwp(jdk: Jdk, how: string, args: readonly string[]): JavaProcess {
  const agent = `-agentlib:jdwp=transport=dt_socket,server=y,${how},address=127.0.0.1:0`
  return startJava(jdk, [agent, '-XX:+DisableAttachMechanism', ...args])
}

/** For the nth debugger: given the port 0, HotSpot takes another one each time. */
async function portOf(java: JavaProcess, nth = 1): Promise<number> {
  return Number(/\d+$/.exec(await java.line(/^Listening for transport/, nth))![0])
}

const debug = async (java: JavaProcess, nth: number): Promise<JdwpTarget> =>
  await JdwpTarget.connect(await portOf(java, nth))

/** Suspensions of all threads together. */
async function suspensions(jvm: JdwpTarget): Promise<number> {
  let sum = 0
  for (const thread of granted(await jvm.virtualMachine.allThreads(), 'threads')) {
    const count = await jvm.threadReference.suspendCount(thread)
    if (count.ok) sum += count.value
  }
  return sum
}

/** The code of the root, as a debugger sees it. */
async function codeOfTask(jvm: JdwpTarget): Promise<string> {
  const [type] = granted(await jvm.virtualMachine.classesBySignature('Lfix/KnownTree;'), 'the class')
  const id: TypeId = type!.id
  const task = granted(await jvm.referenceType.methods(id), 'methods').find((it) => it.name === 'task')!
  return granted(await jvm.method.bytecodes(id, task.id), 'code').toString('hex')
}

forEachJdk((jdk) => {
  it('a JVM without attach is looked at without a trace, and counted exactly; meanwhile the next debugger finds all threads running, and its own code afterwards', async () => {
    await using java = await startBeating(jdk)
    await java.line(/ready/)
    const told = await jfluid('doctor', '--jdwp', `${await portOf(java)}`, '--json', ...ROOT)
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
    expect(recording.process.stderr()).toMatch(/^detached from \d+ in .*restored: \d+ classes original/m)
    java.send('expect')
    await java.line(/^end/)
    expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
    // `Stop` is loaded only as the task runs.
    expect(reach.schemeA.methods).toBe(profile.instrumentation.instrumentedMethods - 1)
    expect(java.stderr()).toBe('')

    // The agent that sleeps there is woken; its client is killed.
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

it('a JVM that waits for a debugger at its start runs then', async () => {
  await using java = await startBeating(newest, 'suspend=y')
  const phases: string[] = []
  const address = { host: '127.0.0.1', port: await portOf(java) }
  const door = await jdwpDoor(address, undefined, (phase) => phases.push(phase))
  expect(phases).toContain('the JVM was waiting for a debugger at its start: it runs now')
  expect(door.pid).toBe(java.pid)
  door.link.close()
  door.leave()
  await java.line(/ready/)
})

/** A port on the way to the JVM's, as `ssh -L` or `kubectl port-forward` have it: behind it the JVM is no process that we know. */
interface Way {
  readonly port: number
  /** How often we have said something after the JVM had: a network's delay has to be waited for as often. */
  readonly turns: number
  /** Told of each. */
  onTurn: (turns: number) => void
  /** From now on nothing comes through, and nobody is told. */
  cut(): void
  close(): Promise<void>
}

/** @param before  debuggers that have been there */
async function forwarded(java: JavaProcess, before = 0): Promise<Way> {
  const ways: Socket[] = []
  let nth = before
  let turns = 0
  let isOurs = false
  const server = createServer(async (near) => {
    const far = connect(await portOf(java, ++nth), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => {}) // `close` follows
      from.on('close', () => to.destroy())
      from.pipe(to)
      ways.push(from)
      from.on('data', () => {
        if (from === near && !isOurs) way.onTurn(++turns)
        isOurs = from === near
      })
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  const way: Way = {
    port,
    get turns() {
      return turns
    },
    onTurn: () => {},
    cut: () => {
      for (const it of ways) it.unpipe().resume()
    },
    close: () => new Promise((closed) => server.close(() => closed())),
  }
  return way
}

/** As the system has their names; a JVM without the attach mechanism tells none. */
function threadNames(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((it) => {
    try {
      return readFileSync(`/proc/${pid}/task/${it}/comm`, 'utf8').trim()
    } catch {
      return [] // it has just ended
    }
  })
}

const agentThreads = (pid: number): string[] => threadNames(pid).filter((it) => it.includes('jfluid'))

forEachJdk((jdk) => {
  it('a thread of the JDK stands for a few turns of the network, none of the program does, and ours has ended by then', async () => {
    // No thread of this program passes a method.
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
  it('the thread of the JDK is interrupted while it stands, and only where it waits: what it cleans up is not', async () => {
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
  it('a program without java.instrument is given it, and no warning of it', async () => {
    // The JVM refuses the module's library to whoever has not been allowed it, which is to become the rule.
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

it('a JVM that is stopped is told so, and takes the next debugger once it goes on', async () => {
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

it('a thread is not taken for whose monitors others would wait', async () => {
  const locked = BEATING.replace(/java\.util.*?;/, 'synchronized (fix.Beating.class) { $& }')
  const path = await compileJava(newest, { ...SOURCES, 'fix/Beating.java': locked })
  await using java = startJdwp(newest, 'suspend=n', [...occupied(path), 'fix.Beating', '1', '1'])
  await java.line(/ready/)
  const address = { host: '127.0.0.1', port: await portOf(java) }
  await expect(jdwpDoor(address, 700)).rejects.toThrow(
    'has no thread to spare: those that passed a method within 0.7 s own monitors',
  )
  java.send('run 1')
  await java.line(/done/)
})

const carriedJars = (): string[] => readdirSync('/tmp').filter((it) => /^jfluid-carried-\d+\.jar$/.test(it))

forEachJdk((jdk) => {
  it('a JVM with which nothing is shared gets the agent over the port, and its events come over the network: no call is lost', async () => {
    // The buffer is not of the application's direct memory.
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
    expect(recording.process.stderr()).toMatch(/^detached from \d+ in .*restored: \d+ classes original/m)
    java.send('expect')
    await java.line(/^end/)
    expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
    expect(profile.events.count).toBeGreaterThan(100_000)
    expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
    expect(profile.kept.outsideBytes).toBeGreaterThan(BUFFER_BYTES)
    expect(java.stderr()).toBe('')
    await way.close()
  })
})

forNewestJdk((jdk) => {
  it.each(['SIGKILL' as const, ...(FULL ? ['SIGSTOP' as const] : [])])(
    'where nothing is shared a client that gets %s is given up',
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

const OPTIONS = { scheme: 'b' as const, roots: [], include: [], exclude: [], jdk: false, lookAhead: 0 }

describe.runIf(FULL)('where nothing is shared', () => {
  forEachJdk((jdk) => {
    it('a client that is killed at any turn leaves no thread standing, and the port to the next', async () => {
      const tmp = temporaryDirectory()
      // It does nothing, so that the JDK's thread is the one that comes by.
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
    it('a jar that a client has brought, and did not live to use, goes with the JVM, or with the next session', async () => {
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
    it('a client of which nothing is heard before it records is given up, and the next one comes in', async () => {
      await using java = await startBeating(jdk)
      await java.line(/ready/)
      const way = await forwarded(java)
      const address = { host: '127.0.0.1', port: way.port }
      const mute = await jdwpDoor(address)
      expect(mute.elsewhere).toBeDefined()
      expect(await mute.link.closed).toBe('nothing came from the client for some seconds')
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
    it('the memory of a session goes back to the system', async () => {
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
      // Two buffers: the JVM grows by itself, too.
      expect(resident.at(-1)! - resident[1]!, `${resident}`).toBeLessThan((2 * BUFFER_BYTES) >> 10)
      await way.close()
    })
  })

  it('a network that goes while a thread stands is told as that, and the thread runs once the JVM hears of it', async () => {
    await using java = await startBeating(newest)
    await java.line(/ready/)
    const way = await forwarded(java)
    const entered = jdwpDoor({ host: '127.0.0.1', port: way.port }, undefined, (phase) => {
      if (phase === 'starting a thread') way.cut()
    })
    await expect(entered).rejects.toMatchObject({
      exitCode: 75,
      message: expect.stringMatching(
        /^a thread of the JVM at 127.0.0.1:\d+ stood while it was to start one of ours: /,
      ),
    })
    await way.close()
    const next = await debug(java, 2)
    expect(await suspensions(next)).toBe(0)
    await next.dispose()
  })

  it('a thread that stood before it parked is not parked without the permit that it had', async () => {
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

  it('a JVM of which nothing comes any more ends the session, and what was recorded is kept', async () => {
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
    expect(recording.process.stderr()).toContain('nothing came from the JVM for 15 s')
    const profile = await readProfileJson(recording.file)
    // What it had written a moment before it was stopped may not have come.
    const expected = parseExpectation(java.stdout())
    const calls = [...callsByPath(profile.merged)]
    expect(calls).not.toEqual([])
    expect(calls.filter(([path, count]) => count > (expected.get(path) ?? 0))).toEqual([])
    java.send('run 1')
    await java.line(/done/, 2)
    await way.close()
  })

  it('a JVM of which nothing comes from the beginning is not waited for, and goes on', async () => {
    await using java = await startBeating(newest)
    await java.line(/ready/)
    const way = await forwarded(java)
    const preparation = new Preparation(await jdwpDoor({ host: '127.0.0.1', port: way.port }), OPTIONS)
    process.kill(java.pid, 'SIGSTOP')
    await expect(preparation.prepare(() => {})).rejects.toMatchObject({
      exitCode: 74,
      message: 'nothing came from the JVM for 10 s',
    })
    await preparation.abandon(false)
    process.kill(java.pid, 'SIGCONT')
    await until(async () => agentThreads(java.pid).length === 0)
    await way.close()
  })

  it('a JVM without memory for the buffer says so, and goes on', async () => {
    await using java = await startBeating(newest, 'suspend=n', '50', '-XX:MaxDirectMemorySize=256k')
    await java.line(/ready/)
    const way = await forwarded(java)
    const told = await jfluid('record', '--jdwp', `${way.port}`, ...ROOT, '--out', 'none.jfluid')
    expect(told.stderr).toContain('the JVM has run out of memory while jfluid attached: ')
    expect(told.code).toBe(75)
    java.send('run 1')
    await java.line(/done/)
    await way.close()
  })

  it('virtual threads that change carriers are told in their order', async () => {
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

  it('what was recorded before the program ended is kept', async () => {
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
    expect(recording.process.stderr()).toContain('whether that has ended cannot be seen from here')
    const profile = await readProfileJson(recording.file)
    expect(lines(callsByPath(profile.merged))).toEqual(lines(parseExpectation(java.stdout())))
    await way.close()
  })

  it('a JVM that cannot reach us is told so, and goes on', async () => {
    // A network of its own, out of which a socket in a directory leads.
    const path = join(temporaryDirectory(), 'way')
    const inside = `require('net').createServer((a) => {
      const b = require('net').connect(5005, '127.0.0.1')
      for (const it of [a, b]) it.on('error', () => {}).on('close', () => { a.destroy(); b.destroy() })
      a.pipe(b).pipe(a)
    }).listen(process.argv[1])`
    const jdwp = '-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:5005'
    const script =
      'ip link set lo up && { "$1" -e "$2" "$3" </dev/null >/dev/null 2>&1 & shift 3; exec "$@"; }'
    await using java = startProcess('unshare', [
      ...['-rnpf', '--kill-child', 'sh', '-c', script, 'sh', process.execPath, inside, path],
      // Its number there would stay in the /tmp of this machine.
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
        /^nothing is shared with the JVM at 127.0.0.1:\d+, and it cannot connect to jfluid at 127.0.0.1:\d+: java\.net\.ConnectException: /,
      ),
    })
    java.send('run 1')
    await java.line(/done/)
    await new Promise((closed) => server.close(closed))
  })
})

it('an idle JVM is told so, and is left as it was', async () => {
  await using java = startJdwp(newest, 'suspend=n', [...occupied(await classes), 'fix.KnownTree', '1', '1'])
  await java.line(/ready/)
  const address = { host: '127.0.0.1', port: await portOf(java) }
  await expect(jdwpDoor(address, 300)).rejects.toThrow(
    `the JVM at 127.0.0.1:${address.port} is idle: no thread passed a method within 0.3 s`,
  )
  const jvm = await debug(java, 2)
  expect(await suspensions(jvm)).toBe(0)
  await jvm.dispose()
  java.send('run 1')
  await java.line(/done/)
})

it('Common-Cleaner is not taken where it is at work, for whoever may hold something', async () => {
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
  // Long enough that methods of all classes are asked for as well.
  await expect(jdwpDoor(address, 2000)).rejects.toThrow('is idle: no thread passed a method within 2 s')
  const jvm = await debug(java, 2)
  expect(await suspensions(jvm)).toBe(0)
  await jvm.dispose()
  java.send('run 1')
  await java.line(/done/)
  expect(java.stdout()).not.toContain('over')
})

it('a debugger that is connected stays so, and is named', async () => {
  await using java = startJdwp(newest, 'suspend=n', ['-cp', await classes, 'fix.KnownTree', '1', '1'])
  const port = await portOf(java)
  await using jvm = await JdwpTarget.connect(port)
  await expect(jdwpDoor({ host: '127.0.0.1', port })).rejects.toMatchObject({
    exitCode: 75,
    message: `a debugger is connected to the JVM at 127.0.0.1:${port} already`,
  })
  expect((await jvm.virtualMachine.version()).ok).toBe(true)
})

it('what is no JVM is not taken for one', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  const address = { host: '127.0.0.1', port }
  await expect(jdwpDoor(address)).rejects.toMatchObject({
    exitCode: 76,
    message: `no JVM shakes hands with a debugger at 127.0.0.1:${port}: it does not speak JDWP`,
  })
  await new Promise((closed) => server.close(closed))
  await expect(jdwpDoor(address)).rejects.toMatchObject({
    exitCode: 68,
    message: expect.stringContaining('ECONNREFUSED'),
  })
})
