import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import type { AttachError } from '../../src/attach/admission.ts'
import { agentProperties } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { listJvms } from '../../src/attach/jvms.ts'
import {
  compileJava,
  type JavaOptions,
  type JavaProcess,
  startJava,
  startProcess,
  stop,
  temporaryDirectory,
} from '../support/java-process.ts'
import { forEachJdk, type Jdk, newest, oldest } from '../support/jdks.ts'
import { describeOnlyIf } from '../support/only-if.ts'
import { WAITER } from './waiter.ts'

let classes: string
beforeAll(async () => {
  classes = await compileJava(
    oldest,
    {
      ...WAITER,
      // Maps a file with the name of OpenJ9's library.
      LooksLikeJ9: `
      import java.nio.channels.FileChannel;
      public class LooksLikeJ9 {
        public static void main(String[] args) throws Exception {
          try (var file = FileChannel.open(java.nio.file.Path.of(args[0]))) {
            var map = file.map(FileChannel.MapMode.READ_ONLY, 0, 1);
            System.out.println("ready");
            Thread.sleep(60_000);
            System.out.println(map.get(0));
          }
        }
      }`,
    },
    { release: null },
  )
  chmodSync(classes, 0o755) // some JVMs here run as another user
})

async function startWaiter(jdk: Jdk, flags: string[] = [], options: JavaOptions = {}): Promise<JavaProcess> {
  const java = startJava(jdk, [...flags, '-cp', classes, 'Waiter'], options)
  await java.line(/ready/)
  return java
}

/** Returns the refusal of an attach that must fail. */
async function refusal(pid: number, timeoutMs = 5000): Promise<AttachError> {
  try {
    await openAttachSocket(pid, { timeoutMs })
  } catch (problem) {
    return problem as AttachError
  }
  throw new Error(`process ${pid} was attached to`)
}

/** Checks that the JVM got no signal and still works: it printed no threads and answers on its input. */
async function assertUndisturbed(java: JavaProcess): Promise<void> {
  java.send('?')
  await java.line(/alive/)
  assert.doesNotMatch(java.stdout() + java.stderr(), /Full thread dump/)
}

const socketOf = (pid: number) => `/tmp/.java_pid${pid}`

/** Leaves a socket file without a listener. */
async function leaveDeadSocket(path: string): Promise<void> {
  rmSync(path, { force: true })
  const code = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`
  await startProcess(process.execPath, ['-e', code]).exit
  assert.ok(existsSync(path))
}

/** Runs `body` with another effective user and group, like a client of that user. */
async function asUser<T>(uid: number, gid: number, body: () => Promise<T>): Promise<T> {
  process.setegid?.(gid)
  process.seteuid?.(uid)
  try {
    return await body()
  } finally {
    process.seteuid?.(0)
    process.setegid?.(0)
  }
}

forEachJdk((jdk) => {
  it('the first attach sends one signal and leaves only the attach socket behind', async () => {
    const cwd = temporaryDirectory()
    const java = await startWaiter(jdk, [], { cwd })
    const connection = await openAttachSocket(java.pid)
    assert.equal(connection.signalled, true)
    assert.equal(connection.socketPath, `/proc/${java.pid}/root${socketOf(java.pid)}`)
    assert.deepEqual(readdirSync(cwd), [])
    assert.equal(existsSync(`/tmp/.attach_pid${java.pid}`), false)
    assert.equal((await agentProperties(connection)).get('sun.java.command'), 'Waiter')
    await assertUndisturbed(java)
    console.info(`JDK ${jdk.version}: first contact after ${connection.firstContactMs.toFixed(1)} ms`)
  })

  it('the second attach uses the existing attach socket and sends no signal', async () => {
    const java = await startWaiter(jdk)
    await openAttachSocket(java.pid)
    const second = await openAttachSocket(java.pid)
    assert.equal(second.signalled, false)
    assert.ok((await agentProperties(second)).size > 0)
    await assertUndisturbed(java)
  })

  it('clients that attach at the same time send one signal in total', async () => {
    const java = await startWaiter(jdk)
    const connections = await Promise.all([1, 2, 3].map(() => openAttachSocket(java.pid)))
    assert.equal(connections.filter(({ signalled }) => signalled).length, 1)
    await assertUndisturbed(java)
  })

  it('an attach to a JVM with -Xrs uses the existing attach socket and sends no signal', async () => {
    const java = await startWaiter(jdk, ['-Xrs'])
    const connection = await openAttachSocket(java.pid)
    assert.equal(connection.signalled, false)
    assert.ok((await agentProperties(connection)).size > 0)
  })

  it('an attach to a JVM with -Xrs whose attach socket was deleted is refused, and no signal is sent', async () => {
    const java = await startWaiter(jdk, ['-Xrs'])
    unlinkSync(socketOf(java.pid))
    const problem = await refusal(java.pid, 1000)
    assert.equal(`${problem.name} ${problem.exitCode}`, 'SigquitNotCaught 69')
    await assertUndisturbed(java)
  })

  it('a JVM whose attach socket was deleted opens a new socket', async () => {
    const java = await startWaiter(jdk)
    await openAttachSocket(java.pid)
    unlinkSync(socketOf(java.pid))
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    await assertUndisturbed(java)
  })

  it('an attach to a JVM without hsperfdata works', async () => {
    const java = await startWaiter(jdk, ['-XX:-UsePerfData'])
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    await assertUndisturbed(java)
  })

  it('an attach to a JVM that is still starting waits until the JVM is ready', async () => {
    const java = startJava(jdk, ['-cp', classes, 'Waiter'])
    const connection = await openAttachSocket(java.pid)
    assert.ok((await agentProperties(connection)).size > 0)
    await assertUndisturbed(java)
  })

  it('an unwritable working directory does not prevent an attach', async () => {
    const java = await startWaiter(jdk, [], { cwd: '/proc' })
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    assert.equal(existsSync(`/tmp/.attach_pid${java.pid}`), false)
    await assertUndisturbed(java)
  })

  it('an attach socket that an earlier process has left does not prevent the first attach', async () => {
    const java = await startWaiter(jdk)
    await leaveDeadSocket(socketOf(java.pid))
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    await assertUndisturbed(java)
  })

  it('a leftover socket file in place of the socket file of the JVM does not prevent an attach', async () => {
    const java = await startWaiter(jdk)
    await openAttachSocket(java.pid)
    await leaveDeadSocket(socketOf(java.pid))
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    await assertUndisturbed(java)
  })

  it('a trigger file (.attach_pid) left by a client that has ended is replaced', async () => {
    const cwd = temporaryDirectory()
    const java = await startWaiter(jdk, [], { cwd })
    const left = join(cwd, `.attach_pid${java.pid}`)
    writeFileSync(left, '')
    utimesSync(left, 1e9, 1e9)
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    assert.deepEqual(readdirSync(cwd), [])
    await assertUndisturbed(java)
  })

  it('the client waits while the trigger file of another client exists in the working directory', async () => {
    const cwd = temporaryDirectory()
    const java = await startWaiter(jdk, [], { cwd })
    const theirs = join(cwd, `.attach_pid${java.pid}`)
    writeFileSync(theirs, '')
    const ours = openAttachSocket(java.pid)
    assert.equal(await Promise.race([ours, sleep(200, 'still waits')]), 'still waits')
    rmSync(theirs)
    assert.equal((await ours).signalled, true)
    await assertUndisturbed(java)
  })

  describe('-XX:+DisableAttachMechanism is detected before a signal is sent', () => {
    const DISABLE = '-XX:+DisableAttachMechanism'

    it.each<[string, () => [flags: string[], options?: JavaOptions]]>([
      ['in hsperfdata', () => [[DISABLE]]],
      ['on the command line', () => [['-XX:-UsePerfData', DISABLE]]],
      ['in JAVA_TOOL_OPTIONS', () => [['-XX:-UsePerfData'], { env: { JAVA_TOOL_OPTIONS: DISABLE } }]],
      ['in JDK_JAVA_OPTIONS', () => [['-XX:-UsePerfData'], { env: { JDK_JAVA_OPTIONS: DISABLE } }]],
      [
        'in an argument file',
        () => {
          const cwd = temporaryDirectory()
          writeFileSync(join(cwd, 'args'), `# ours\n-XX:-UsePerfData "${DISABLE}"`)
          return [['@args'], { cwd }]
        },
      ],
    ])('-XX:+DisableAttachMechanism %s is detected before a signal is sent', async (_, start) => {
      const java = await startWaiter(jdk, ...start())
      const problem = await refusal(java.pid)
      assert.equal(`${problem.name} ${problem.exitCode}`, 'AttachDisabled 78')
      await assertUndisturbed(java)
    })
  })

  it('an attach to a stopped JVM is refused, and works after the JVM continues', async () => {
    const java = await startWaiter(jdk)
    await stop(java)
    const problem = await refusal(java.pid)
    assert.equal(`${problem.name} ${problem.exitCode}`, 'TargetStopped 75')
    assert.equal(problem.hint, `Continue the process first: kill -CONT ${java.pid}`)
    java.child.kill('SIGCONT')
    assert.equal((await openAttachSocket(java.pid)).signalled, true)
    await assertUndisturbed(java)
  })

  describe('a JVM that cannot bind its attach socket', () => {
    /** Within this time a JVM on a busy machine handles the signal. Without its trigger file it would print its threads. */
    const HANDLED_MS = 2000

    /** Starts a JVM that finds a directory at the path of its socket. */
    async function startMute(): Promise<{ java: JavaProcess; cwd: string }> {
      const cwd = temporaryDirectory()
      const java = await startWaiter(jdk, ['-Xlog:attach=trace'], { cwd })
      mkdirSync(socketOf(java.pid))
      return { java, cwd }
    }

    it('an attach to a JVM that cannot bind its attach socket fails after one signal, and the trigger file is removed', async () => {
      const { java, cwd } = await startMute()
      const problem = await refusal(java.pid, HANDLED_MS)
      assert.equal(`${problem.name} ${problem.exitCode}`, 'NotAnswering 75')
      assert.equal(
        problem.message,
        `JVM ${java.pid} did not answer the attach request within ${HANDLED_MS} ms`,
      )
      assert.deepEqual(readdirSync(cwd), [])
      // In /tmp, because the working directory of a JVM may change during its start.
      assert.deepEqual(java.stdout().match(/Attach triggered by .*/g), [
        `Attach triggered by /tmp/.attach_pid${java.pid}`,
      ])
      await assertUndisturbed(java)
    })

    it('a JVM that is stopped during the attach is reported as stopped', async () => {
      const { java } = await startMute()
      const problem = refusal(java.pid, HANDLED_MS)
      await java.line(/Attach triggered by/)
      await stop(java)
      assert.equal((await problem).name, 'TargetStopped')
    })

    it('a JVM that ends during the attach is reported as ended', async () => {
      const { java, cwd } = await startMute()
      const problem = refusal(java.pid)
      await java.line(/Attach triggered by/)
      await java.kill()
      assert.equal((await problem).message, `cannot attach to ${java.pid}: the process has ended`)
      assert.deepEqual(readdirSync(cwd), [])
    })
  })
})

describe('a cancelled attach', () => {
  it('an attach that is cancelled while waiting for another client sends no signal', async () => {
    const cwd = temporaryDirectory()
    const java = await startWaiter(newest, [], { cwd })
    const theirs = join(cwd, `.attach_pid${java.pid}`)
    writeFileSync(theirs, '')
    utimesSync(theirs, Date.now() / 1000 + 60, Date.now() / 1000 + 60) // a time in the future keeps the file from expiring
    const stopping = new AbortController()
    const ours = openAttachSocket(java.pid, { timeoutMs: 60_000, signal: stopping.signal })
    assert.equal(await Promise.race([ours, sleep(100, 'still waits')]), 'still waits')
    stopping.abort()
    await assert.rejects(ours, { name: 'AbortError' })
    assert.deepEqual(readdirSync(cwd), [`.attach_pid${java.pid}`])
    assert.equal(existsSync(socketOf(java.pid)), false)
    await assertUndisturbed(java)
  })

  it('an attach that is cancelled at its start leaves no trigger file', async () => {
    const java = await startWaiter(newest)
    await assert.rejects(openAttachSocket(java.pid, { signal: AbortSignal.abort() }), { name: 'AbortError' })
    assert.equal(existsSync(`/tmp/.attach_pid${java.pid}`), false)
    assert.equal(existsSync(socketOf(java.pid)), false)
    await assertUndisturbed(java)
  })

  it('if an attach is cancelled after its signal was sent, the attach is completed, since the JVM would otherwise print a thread dump', async () => {
    const cwd = temporaryDirectory()
    const java = await startWaiter(newest, ['-Xlog:attach=trace'], { cwd })
    mkdirSync(socketOf(java.pid)) // it cannot bind its socket, so it never answers
    onTestFinished(() => rmSync(socketOf(java.pid), { recursive: true, force: true }))
    const stopping = new AbortController()
    const ours = openAttachSocket(java.pid, { timeoutMs: 3000, signal: stopping.signal })
    const answer = assert.rejects(ours, { name: 'NotAnswering' })
    await java.line(/Attach triggered by/)
    stopping.abort()
    await answer
    assert.equal(existsSync(`/tmp/.attach_pid${java.pid}`), false)
    await assertUndisturbed(java)
  })
})

describe('processes that are not HotSpot JVMs', () => {
  it('a thread id is not accepted as a process id', async () => {
    const java = await startWaiter(newest)
    const thread = readdirSync(`/proc/${java.pid}/task`)
      .map(Number)
      .find((id) => id !== java.pid)
    assert.equal((await refusal(thread ?? 0)).hint, `Attach to the process: jfluid attach ${java.pid}`)
    await assertUndisturbed(java)
  })

  it('an OpenJ9 JVM is recognised by its JVM library', async () => {
    const library = join(temporaryDirectory(), 'libj9vm29.so')
    writeFileSync(library, 'x')
    const java = startJava(newest, ['-cp', classes, 'LooksLikeJ9', library])
    await java.line(/ready/)
    const problem = await refusal(java.pid)
    assert.equal(`${problem.name} ${problem.exitCode}`, 'NotHotSpot 69')
    assert.doesNotMatch(java.stdout(), /thread dump/)
  })
})

/** Runs a program with its own pids, mounts and /tmp, like a container runtime. */
const CONTAINER = ['--pid', '--mount', '--fork', '--kill-child', '--mount-proc', 'sh', '-c']
const canContain = spawnSync('unshare', [...CONTAINER, 'mount -t tmpfs none /tmp']).status === 0

const describeContained = describeOnlyIf(canContain, 'needs mount and pid namespaces')

describeContained('an attach to a JVM that has pid 1 and its own /tmp', () => {
  /** Starts a JVM in a container. Returns the started program, and the JVM's pid in this pid namespace. */
  async function startContained(flags = ''): Promise<{ outer: JavaProcess; pid: number }> {
    const setUp = `mount --bind '${classes}' /mnt && mount -t tmpfs none /tmp`
    const run = `exec '${newest.java}' ${flags} -cp /mnt Waiter`
    const outer = startProcess('unshare', [...CONTAINER, `${setUp} && ${run}`])
    await outer.line(/ready/)
    return { outer, pid: Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8')) }
  }

  it('a JVM in a container is listed outside the container, and an attach from outside works', async () => {
    const { outer, pid } = await startContained()
    const jvm = listJvms().find((found) => found.pid === pid)
    assert.deepEqual([jvm?.version, jvm?.mainClass, jvm?.attachable], [newest.full, 'Waiter', true])

    const connection = await openAttachSocket(pid)
    assert.equal(connection.signalled, true)
    const itsRoot = `/proc/${pid}/root`
    assert.equal(connection.socketPath, `${itsRoot}/tmp/.java_pid1`)
    assert.equal((await agentProperties(connection)).get('sun.java.command'), 'Waiter')
    assert.equal((await openAttachSocket(pid)).signalled, false)
    await assertUndisturbed(outer)
  })

  it('an attach to a JVM in a container is refused if the JVM has disabled attaching', async () => {
    const { outer, pid } = await startContained('-XX:+DisableAttachMechanism')
    assert.equal((await refusal(pid)).name, 'AttachDisabled')
    await assertUndisturbed(outer)
  })
})

// Only root can start processes of another user; the decision itself is tested in admission.test.ts.
describeOnlyIf(process.geteuid?.() === 0, 'needs root')('an attach by different users', () => {
  const NOBODY = 65534
  const asNobody = { uid: NOBODY, gid: NOBODY }

  afterAll(() => {
    for (const name of readdirSync('/tmp').filter((name) => /^hsperfdata_(nobody|65534)$/.test(name))) {
      if (readdirSync(`/tmp/${name}`).length === 0) rmdirSync(`/tmp/${name}`)
    }
  })

  it('an attach by another user is refused, and the JVM is unaffected', async () => {
    const java = await startWaiter(newest)
    const problem = await asUser(NOBODY, NOBODY, () => refusal(java.pid))
    assert.equal(`${problem.name} ${problem.exitCode}`, 'NotOwner 77')
    assert.match(problem.message, /the process belongs to uid 0, and jfluid runs as uid 65534$/)
    await assertUndisturbed(java)
  })

  it('if a user who may not attach prints the list of JVMs, the list states that an attach is refused', async () => {
    const java = await startWaiter(newest)
    const listed = await asUser(NOBODY, NOBODY, async () => listJvms())
    const { user, mainClass, attachable } = listed.find(({ pid }) => pid === java.pid) ?? {}
    assert.deepEqual(
      { user, mainClass, attachable },
      {
        user: 'root',
        mainClass: 'Waiter',
        attachable: 'belongs to uid 0',
      },
    )
  })

  it('a JVM of another pid namespace that shares /tmp is listed once, with its process id in the outer namespace', async () => {
    const shared = ['--pid', '--mount', '--fork', '--kill-child', '--mount-proc']
    const run = `exec '${newest.java}' -cp '${classes}' Waiter`
    const outer = startProcess('unshare', [...shared, 'sh', '-c', run])
    await outer.line(/ready/)
    const pid = Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8'))
    // Process 1 outside has the id that the JVM has inside, and the same user. NOBODY may not read its maps.
    assert.equal(statSync('/tmp/hsperfdata_root/1').uid, statSync('/proc/1').uid)
    const lists = [listJvms(), await asUser(NOBODY, NOBODY, async () => listJvms())]
    for (const list of lists) {
      assert.equal(list.filter((jvm) => jvm.pid === 1).length, 0)
      assert.equal(list.filter((jvm) => jvm.pid === pid).length, 1)
    }
    assert.equal(lists[0]!.find((jvm) => jvm.pid === pid)?.mainClass, 'Waiter')
    await assertUndisturbed(outer)
  })

  it('the owner of the JVM can attach without root', async () => {
    const java = await startWaiter(newest, [], { ...asNobody, cwd: '/' })
    await asUser(NOBODY, NOBODY, async () => {
      const connection = await openAttachSocket(java.pid)
      assert.equal(connection.signalled, true)
      assert.ok((await agentProperties(connection)).size > 0)
    })
    await assertUndisturbed(java)
  })

  it.each([
    ['an old file of root', 1e9, 0],
    ['a new file of another user', Date.now() / 1000 + 60, 12345],
  ])(
    'the trigger file is created in the working directory if the old trigger file in /tmp cannot be removed: %s',
    async (_, time, owner) => {
      const cwd = temporaryDirectory()
      chownSync(cwd, NOBODY, NOBODY)
      const java = await startWaiter(newest, [], { ...asNobody, cwd })
      const left = `/tmp/.attach_pid${java.pid}`
      onTestFinished(() => rmSync(left, { force: true }))
      writeFileSync(left, '')
      chownSync(left, owner, owner)
      utimesSync(left, time, time)
      const { signalled } = await asUser(NOBODY, NOBODY, () => openAttachSocket(java.pid))
      assert.equal(signalled, true)
      assert.deepEqual(readdirSync(cwd), [])
      await assertUndisturbed(java)
    },
  )

  it('a trigger file of another user in the working directory is reported, and no signal is sent', async () => {
    const cwd = temporaryDirectory()
    chmodSync(cwd, 0o755)
    const java = await startWaiter(newest, [], { ...asNobody, cwd })
    const left = join(cwd, `.attach_pid${java.pid}`)
    writeFileSync(left, '')
    chownSync(left, 12345, 12345)
    utimesSync(left, 1e9, 1e9)
    const problem = await asUser(NOBODY, NOBODY, () => refusal(java.pid))
    assert.equal(`${problem.name} ${problem.exitCode}`, 'CannotTrigger 73')
    assert.match(problem.message, /cannot write the trigger file \(working directory: EACCES\)$/)
    await assertUndisturbed(java)
  })

  it('an attach by the owner of the JVM with another group id is refused, since HotSpot would close the connection', async () => {
    const java = await startWaiter(newest, [], { ...asNobody, cwd: '/' })
    const problem = await asUser(NOBODY, 100, () => refusal(java.pid))
    assert.match(problem.message, /the process belongs to group 65534, and jfluid runs as group 100$/)
    await assertUndisturbed(java)
  })

  it('root may attach to the JVM of any user', async () => {
    const java = await startWaiter(oldest, [], { ...asNobody, cwd: '/' })
    const connection = await openAttachSocket(java.pid)
    assert.equal(connection.signalled, true)
    assert.equal(statSync(connection.socketPath).uid, NOBODY)
    assert.ok((await agentProperties(connection)).size > 0)
    await assertUndisturbed(java)
  })

  it('a leftover attach socket of another user is reported, and no signal is sent', async () => {
    const cwd = temporaryDirectory()
    chownSync(cwd, NOBODY, NOBODY)
    const java = await startWaiter(newest, [], { ...asNobody, cwd })
    const path = socketOf(java.pid)
    onTestFinished(() => rmSync(path, { force: true }))
    // Bound under another name, because a server removes the socket file that it has bound when it closes.
    const server = createServer().listen(`${path}.tmp`)
    await once(server, 'listening')
    renameSync(`${path}.tmp`, path)
    server.close()
    await once(server, 'close')
    const problem = await asUser(NOBODY, NOBODY, () => refusal(java.pid))
    assert.equal(`${problem.name} ${problem.exitCode}`, 'ForeignSocket 77')
    assert.match(problem.message, /java_pid\d+ belongs to uid 0, not to the JVM's uid \d+$/)
    await assertUndisturbed(java)
  })

  it('an attach socket that another user has created is not used', async () => {
    const java = await startWaiter(newest)
    const server = createServer().listen(socketOf(java.pid))
    await once(server, 'listening')
    try {
      chownSync(socketOf(java.pid), NOBODY, NOBODY)
      const problem = await refusal(java.pid)
      assert.equal(`${problem.name} ${problem.exitCode}`, 'ForeignSocket 77')
      await assertUndisturbed(java)
    } finally {
      server.close()
    }
  })
})
