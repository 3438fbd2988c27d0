// JVMs of another machine, by its proxy: what is recorded is what is recorded beside them, whatever becomes of the connection.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { newKey } from '../../src/remote/key.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk, jdks, oldest } from '../support/jdks.ts'
import { callsByPath, lines, readProfileJson, stderrLine, sumsAreExact } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { Terminal } from '../support/terminal.ts'
import { exported, heldLink, machine, type Reached, startClient, startListener } from './proxy.ts'
import { mappedFiles, threadNames, until } from './remains.ts'
import { type SshMachine, sshMachine } from './sshd.ts'

const ROOT = ['--root', 'fix.KnownTree.task']

async function knownTree(jdk: Jdk): Promise<JavaProcess> {
  const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '4', '50'])
  await java.line(/ready/)
  return java
}

/** The tree of so many rounds. */
async function expected(java: JavaProcess, rounds = 1): Promise<string[]> {
  java.send('expect')
  await java.line(/^end/)
  return lines(new Map([...parseExpectation(java.stdout())].map(([path, calls]) => [path, calls * rounds])))
}

/** Longer than a silent connection lives, by as much again. */
const SILENT_MS = 32_000

/** That an sshd has taken. */
function connections(there: SshMachine): number {
  return there.log().match(/^Accepted publickey/gm)?.length ?? 0
}

const newFile = (): string => join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')

/** What another machine has of us once a session is over. */
async function nothingIsLeft(there: Reached, java: JavaProcess): Promise<void> {
  await until(() => there.sessions().length === 0)
  expect(readdirSync(there.tmp)).toEqual([])
  await until(() => mappedFiles(java.pid).every((file) => !file.includes('jfluid')))
}

// The newest has the view below.
describe.each(FULL ? jdks : [oldest])('on JDK $version', (jdk) => {
  it('record by ssh has what was called there, also while the connection was cut', async () => {
    const there = machine()
    const java = await knownTree(jdk)
    const file = newFile()
    const target = `ssh://me@there:22/${java.pid}`
    const client = startClient(there, 'record', target, ...ROOT, '--duration', '10m', '--out', file)
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    there.cut()
    await until(() => there.connections().length === 2)
    java.send('run 1')
    await java.line(/done/, 2)
    client.child.kill('SIGINT')
    expect((await client.exit).code, client.stderr()).toBe(0)
    expect(client.stderr()).toMatch(/detached from \d+ in \d+ ms; restored: /)
    const profile = await readProfileJson(file)
    expect(lines(callsByPath(profile.merged))).toEqual(await expected(java, 2))
    expect(sumsAreExact(profile.merged)).toBe(true)
    expect(profile.truncated).toBe(false)
    await nothingIsLeft(there, java)
  })
})

// What is another's stands in for ssh above and below; this one is real.
describe.runIf(FULL).each(jdks)('by an sshd of our own, on JDK $version', (jdk) => {
  it('record has all calls, though the connection was cut, and sshd away for a while', async () => {
    const there = await sshMachine()
    const java = await knownTree(jdk)
    const file = newFile()
    const args = ['record', `ssh://there/${java.pid}`, ...ROOT, '--duration', '10m', '--out', file]
    const client = startClient(there, ...args)
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    there.cut()
    java.send('run 1')
    await java.line(/done/, 2)
    await until(() => connections(there) === 2)
    there.goDown()
    java.send('run 1')
    await java.line(/done/, 3)
    await there.comeUp()
    client.child.kill('SIGINT')
    expect((await client.exit).code, client.stderr()).toBe(0)
    expect(client.stderr()).toMatch(/detached from \d+ in \d+ ms; restored: /)
    const profile = await readProfileJson(file)
    expect(lines(callsByPath(profile.merged))).toEqual(await expected(java, 3))
    expect([sumsAreExact(profile.merged), profile.truncated]).toEqual([true, false])
    expect(connections(there)).toBeGreaterThanOrEqual(3)
    await nothingIsLeft(there, java)
  }, 120_000)

  it('attach draws the tree, says why it is not reached, and goes on with the same counts', async () => {
    const there = await sshMachine()
    const java = await knownTree(jdk)
    const file = newFile()
    const args = ['attach', `ssh://there/${java.pid}`, ...ROOT, '--out', file]
    const terminal = Terminal.jfluid(args, { columns: 150, before: exported(there.env) })
    await terminal.until((screen) => /waiting for root/.test(screen.join('\n')))
    java.send('run 1')
    await terminal.until((screen) => / 4 .*KnownTree\.task/.test(screen.join('\n')))
    there.goDown()
    await terminal.until((screen) =>
      /no connection by ssh:\/\/there .*recording goes on: ssh ended with 255: .*refused/.test(
        screen.join('\n'),
      ),
    )
    java.send('run 2')
    await java.line(/done/, 2)
    await there.comeUp()
    await terminal.until((screen) => / 12 .*KnownTree\.task/.test(screen.join('\n')))
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expected(java, 3))
    await nothingIsLeft(there, java)
  }, 120_000)
})

// The newest has the view below.
describe.each(FULL ? jdks : [oldest])('a proxy that is told to end, on JDK $version', (jdk) => {
  it('leaves its JVM, and its client has what was recorded until then', async () => {
    const there = machine()
    const java = await knownTree(jdk)
    const file = newFile()
    const target = `ssh://there/${java.pid}`
    const client = startClient(there, 'record', target, ...ROOT, '--duration', '10m', '--out', file)
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    process.kill(there.sessions()[0]!, 'SIGTERM')
    expect((await client.exit).code, client.stderr()).toBe(74)
    expect(client.stderr()).toMatch(/ended before its time: the proxy was ended by SIGTERM/)
    expect(client.stderr()).toMatch(/detached from \d+ in \d+ ms; restored: /)
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expected(java))
    await nothingIsLeft(there, java)
  })
})

forNewestJdk((jdk) => {
  it.runIf(FULL)(
    'a view whose proxy is told to end has it all, however long the user looks at it',
    async () => {
      const there = machine()
      const java = await knownTree(jdk)
      const file = newFile()
      const args = ['attach', `ssh://there/${java.pid}`, ...ROOT, '--out', file]
      const terminal = Terminal.jfluid(args, { columns: 110, before: exported(there.env) })
      await terminal.until((screen) => /waiting for root/.test(screen.join('\n')))
      java.send('run 1')
      await java.line(/done/)
      process.kill(there.sessions()[0]!, 'SIGTERM')
      await terminal.until((screen) => /the proxy was ended by SIGTERM: press q/.test(screen.join('\n')))
      await nothingIsLeft(there, java)
      terminal.send('q')
      expect((await terminal.exit).code).toBe(74)
      expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expected(java))
    },
  )

  it('attach by ssh draws the tree, says that it reconnects, and goes on with the same counts', async () => {
    const there = machine()
    const java = await knownTree(jdk)
    const file = newFile()
    const args = ['attach', `ssh://there/${java.pid}`, ...ROOT, '--out', file]
    const terminal = Terminal.jfluid(args, { columns: 110, before: exported(there.env) })
    await terminal.until((screen) => /waiting for root/.test(screen.join('\n')))
    java.send('run 1')
    await terminal.until((screen) => /recording/.test(screen.join('\n')))
    await terminal.until((screen) => / 4 .*KnownTree\.task/.test(screen.join('\n')))
    there.goDown()
    there.cut()
    await terminal.until((screen) => /no connection by ssh:\/\/there .*reconnecting/.test(screen.join('\n')))
    java.send('run 2')
    await java.line(/done/, 2)
    there.comeUp()
    await terminal.until((screen) => / 12 .*KnownTree\.task/.test(screen.join('\n')))
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    const profile = await readProfileJson(file)
    expect(lines(callsByPath(profile.merged))).toEqual(await expected(java, 3))
    await nothingIsLeft(there, java)
  })

  it.each(['attach', 'record'])(
    'Ctrl-C while %s is on its way in: the JVM is left as it was',
    async (command) => {
      const there = machine()
      const java = await knownTree(jdk)
      const args = [command, `ssh://there/${java.pid}`, ...ROOT, '--out', newFile()]
      const terminal = Terminal.jfluid(args, { columns: 110, before: exported(there.env) })
      const attaching = new RegExp(`attaching to ${java.pid} by ssh://there`)
      await terminal.until((screen) => attaching.test(screen.join('\n')))
      terminal.send('\x03')
      expect((await terminal.exit).code).toBe(130)
      expect(terminal.scrollback().join('')).toContain(
        `interrupted before anything was recorded; the agent has left JVM ${java.pid}`,
      )
      await nothingIsLeft(there, java)
      java.send('run 1')
      await java.line(/done/)
    },
  )

  it('a proxy that is killed: the client says so, what was autosaved stays, the JVM restores itself', async () => {
    const there = machine()
    const java = await knownTree(jdk)
    const file = newFile()
    const args = ['record', `ssh://there/${java.pid}`, ...ROOT, '--duration', '10m']
    const client = startClient(there, ...args, '--out', file, '--autosave', '50ms')
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await until(() => readdirSync(join(file, '..')).length > 0)
    const [session] = there.sessions()
    process.kill(session!, 'SIGKILL')
    expect((await client.exit).code, client.stderr()).toBe(74)
    expect(client.stderr()).toMatch(/knows nothing of this session any more; what had been autosaved/)
    const autosaved = await readProfileJson(join(file, '..', readdirSync(join(file, '..'))[0]!))
    expect(autosaved.merged[0]?.method).toBe('task')
    await until(async () => (await threadNames(java.pid)).every((name) => !name.includes('jfluid')))
    expect(readdirSync(there.tmp)).toEqual([])
    java.send('run 1')
    await java.line(/done/, 2)
  })

  it.runIf(FULL)('a client that is killed: its session ends by itself when its time is over', async () => {
    const there = machine('300ms')
    const java = await knownTree(jdk)
    const args = ['record', `ssh://there/${java.pid}`, ...ROOT, '--duration', '10m', '--out', newFile()]
    const client = startClient(there, ...args)
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    await client.kill()
    await nothingIsLeft(there, java)
    java.send('run 1')
    await java.line(/done/)
  })

  it.runIf(FULL)(
    'record goes on, exactly, where nothing came through for half a minute',
    async () => {
      const java = await knownTree(jdk)
      const { port, key } = await startListener()
      const between = await heldLink(port)
      const file = newFile()
      const args = ['record', `tcp://127.0.0.1:${between.port}/${java.pid}`, ...ROOT, '--duration', '10m']
      const client = startClient({ env: { JFLUID_PROXY_KEY: key } }, ...args, '--out', file)
      await stderrLine(client, /root fix.KnownTree.task: 1 method/)
      java.send('run 1')
      await java.line(/done/)
      between.hold()
      await sleep(SILENT_MS)
      java.send('run 1')
      await java.line(/done/, 2)
      between.release()
      client.child.kill('SIGINT')
      expect((await client.exit).code, client.stderr()).toBe(0)
      expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expected(java, 2))
      await until(() => mappedFiles(java.pid).every((name) => !name.includes('jfluid')))
    },
    120_000,
  )

  it('record by TLS with the key; without it nothing is said', async () => {
    const java = await knownTree(jdk)
    const { port, key, process: listener } = await startListener()
    const target = `tcp://127.0.0.1:${port}/${java.pid}`
    const file = newFile()
    const args = ['record', target, ...ROOT, '--out', file, '--duration']
    const wrong = startClient({ env: { JFLUID_PROXY_KEY: newKey().text } }, ...args, '10m')
    expect((await wrong.exit).code).toBe(77)
    expect(wrong.stderr()).toMatch(/the proxy at tcp:\S+ does not take this key/)
    const client = startClient({ env: { JFLUID_PROXY_KEY: key } }, ...args, '10m')
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    client.child.kill('SIGINT')
    expect((await client.exit).code, client.stderr()).toBe(0)
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expected(java))
    listener.child.kill('SIGTERM')
    expect((await listener.exit).code).toBe(143)
  })
})
