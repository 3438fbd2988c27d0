import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, it } from 'vitest'
import { containerLabel, containerOf, type Jvm, listJvms } from '../../src/attach/jvms.ts'
import { cannotContain } from '../support/contained.ts'
import { compileJava, startJava, startProcess, stop, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { cli } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'
import { WAITER } from './waiter.ts'

const listed = (pid: number): Jvm | undefined => listJvms().find((jvm) => jvm.pid === pid)

forEachJdk((jdk) => {
  let classes: string
  beforeAll(async () => {
    classes = await compileJava(jdk, WAITER)
  })

  it('a JVM is listed with its user, version and main class', async () => {
    const java = startJava(jdk, ['-cp', classes, 'Waiter', 'x', 'y z'])
    await java.line(/ready/)
    const { user, vm, container, startedAt, ...rest } = listed(java.pid) ?? {}
    assert.deepEqual(rest, {
      pid: java.pid,
      uid: process.getuid?.(),
      version: jdk.full,
      mainClass: 'Waiter',
      command: 'Waiter x y z',
      attachable: true,
    })
    assert.ok(startedAt !== undefined && startedAt <= Date.now() && startedAt > Date.now() - 60_000)
    const { stdout } = await promisify(execFile)('id', ['-un'])
    assert.equal(user, stdout.trim())
    assert.match(vm ?? '', /VM/)
    const ours = containerOf(process.pid)
    assert.equal(container, ours && containerLabel(ours))
  })

  it('a JVM without hsperfdata is found by its libjvm, and its version is read from the release file', async () => {
    const java = startJava(jdk, ['-XX:-UsePerfData', '-cp', classes, 'Waiter', 'x'])
    await java.line(/ready/)
    const { version, mainClass, command, attachable } = listed(java.pid) ?? {}
    assert.deepEqual(
      { version, mainClass, command, attachable },
      {
        version: jdk.full,
        mainClass: 'Waiter',
        command: 'Waiter x',
        attachable: true,
      },
    )
  })

  it('a JVM that was started from a jar is listed with the file name of the jar, even if the directory name contains a blank', async () => {
    const jar = join(temporaryDirectory('jfluid test '), 'my app.jar')
    const tool = join(jdk.tools, 'jar')
    await promisify(execFile)(tool, ['--create', '--file', jar, '--main-class', 'Waiter', '-C', classes, '.'])
    const java = startJava(jdk, ['-jar', jar, 'run'])
    await java.line(/ready/)
    assert.equal(listed(java.pid)?.mainClass, 'my app.jar')
    assert.equal(listed(java.pid)?.command, `${jar} run`)
  })

  it('a JVM that refuses an attach is listed with the reason and gets no signal', async () => {
    const disabled = startJava(jdk, ['-XX:+DisableAttachMechanism', '-cp', classes, 'Waiter'])
    const stopped = startJava(jdk, ['-cp', classes, 'Waiter'])
    await Promise.all([disabled.line(/ready/), stopped.line(/ready/)])
    await stop(stopped)
    assert.equal(listed(disabled.pid)?.attachable, 'attach is disabled')
    assert.equal(listed(stopped.pid)?.attachable, 'is stopped')
    disabled.send('?')
    await disabled.line(/alive/)
    assert.doesNotMatch(disabled.stdout() + disabled.stderr(), /thread dump/)
  })
})

it('other programs are not listed as JVMs, even if their name is java', async () => {
  const sleeper = startProcess('sleep', ['60'])
  const named = startProcess('bash', ['-c', 'exec -a java sleep 60'])
  assert.equal(listed(sleeper.pid), undefined)
  assert.equal(listed(named.pid), undefined)
})

const UNMOUNTED = ['--pid', '--fork', '--kill-child']
const obstacle = cannotContain(...UNMOUNTED)

itOnlyIf(obstacle === '', `needs pid namespaces: ${obstacle}`)(
  'no command uses process ids from a /proc that belongs to another pid namespace',
  async () => {
    const java = startJava(newest, ['-cp', await compileJava(newest, WAITER), 'Waiter'])
    await java.line(/ready/)
    for (const args of [['ps'], ['record', `${java.pid}`, '--root', 'Waiter.main', '--out', '/dev/null']]) {
      const client = startProcess('unshare', [...UNMOUNTED, process.execPath, cli, ...args])
      const { code } = await client.exit
      assert.match(
        client.stderr(),
        /^jfluid: \/proc shows the processes of another pid namespace: .*\n {2}Start j/,
      )
      assert.deepEqual([code, client.stdout()], [69, ''])
    }
  },
)

it('the list of JVMs is sorted by process id', () => {
  const pids = listJvms().map(({ pid }) => pid)
  assert.deepEqual(
    pids,
    pids.toSorted((a, b) => a - b),
  )
})
