// Remote JVMs by proxy: the profile equals that of a local session, even after connection losses.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AUTOSAVE_ENDING } from '../../src/profile/autosaved.ts'
import { newKey } from '../../src/remote/key.ts'
import { forNewestJdk, jdks, oldest } from '../support/jdks.ts'
import { callsByPath, lines, readProfileJson, stderrLine, sumsAreExact } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import {
  expectedCalls,
  exported,
  knownTree,
  machine,
  newFile,
  nothingIsLeft,
  startClient,
  startListener,
} from './proxy.ts'
import { threadNames, until } from './remains.ts'

const ROOT = ['--root', 'fix.KnownTree.task']

// The tests of attach below cover the newest JDK.
describe.each(FULL ? jdks : [oldest])('a remote JVM of JDK $version', (jdk) => {
  it('record over ssh records all calls of the remote JVM, including calls while the connection is lost', async () => {
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
    expect(lines(callsByPath(profile.merged))).toEqual(await expectedCalls(java, 2))
    expect(sumsAreExact(profile.merged)).toBe(true)
    expect(profile.truncated).toBe(false)
    await nothingIsLeft(there, java)
  })
})

// The tests of attach below cover the newest JDK.
describe.each(FULL ? jdks : [oldest])('a proxy that is terminated, JDK $version', (jdk) => {
  itInFull(
    'a terminated proxy detaches from its JVM, and the client keeps the data recorded so far',
    async () => {
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
      expect(client.stderr()).toMatch(/ended too early: the proxy was ended by SIGTERM/)
      expect(client.stderr()).toMatch(/detached from \d+ in \d+ ms; restored: /)
      expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expectedCalls(java))
      await nothingIsLeft(there, java)
    },
  )
})

forNewestJdk((jdk) => {
  it('attach over ssh shows the tree, reports the reconnection, and continues with the same counts', async () => {
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
    // After ssh has ended, the line below the tree shows its error instead.
    await terminal.until(
      (screen) => /reconnecting/.test(screen[0]!) && /connection to ssh:\/\/there /.test(screen.join('\n')),
    )
    java.send('run 2')
    await java.line(/done/, 2)
    there.comeUp()
    await terminal.until((screen) => / 12 .*KnownTree\.task/.test(screen.join('\n')))
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    const profile = await readProfileJson(file)
    expect(lines(callsByPath(profile.merged))).toEqual(await expectedCalls(java, 3))
    await nothingIsLeft(there, java)
  })

  // `record` does not change its terminal, so it restores no terminal.
  it.each(FULL ? ['attach', 'record'] : ['attach'])(
    'Ctrl-C during a remote %s restores the JVM',
    async (command) => {
      const there = machine()
      const java = await knownTree(jdk)
      const args = [command, `ssh://there/${java.pid}`, ...ROOT, '--out', newFile()]
      const terminal = Terminal.jfluid(args, { columns: 110, before: exported(there.env) })
      const attaching = new RegExp(`attaching to ${java.pid} via ssh://there`)
      await terminal.until((screen) => attaching.test(screen.join('\n')))
      terminal.send('\x03')
      expect((await terminal.exit).code).toBe(130)
      expect(terminal.scrollback().join('')).toContain(
        `interrupted before the recording began; the agent has detached from JVM ${java.pid}`,
      )
      await nothingIsLeft(there, java)
      java.send('run 1')
      await java.line(/done/)
    },
  )

  it('a killed proxy is reported, the autosave file is kept, and the JVM restores itself', async () => {
    const there = machine()
    const java = await knownTree(jdk)
    const file = newFile()
    const args = ['record', `ssh://there/${java.pid}`, ...ROOT, '--duration', '10m']
    const client = startClient(there, ...args, '--out', file, '--autosave', '50ms')
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    // The first autosave may be older than these calls.
    const saved = () => readdirSync(join(file, '..')).find((it) => it.endsWith(AUTOSAVE_ENDING))
    await until(async () => {
      const name = saved()
      return name !== undefined && (await readProfileJson(join(file, '..', name))).merged.length > 0
    })
    const [session] = there.sessions()
    process.kill(session!, 'SIGKILL')
    expect((await client.exit).code, client.stderr()).toBe(74)
    expect(client.stderr()).toMatch(/the session has ended in the proxy; a profile that was autosaved/)
    const autosaved = await readProfileJson(join(file, '..', saved()!))
    expect(autosaved.merged[0]?.method).toBe('task')
    await until(async () => (await threadNames(java.pid)).every((name) => !name.includes('jfluid')))
    await until(() => readdirSync(there.tmp).length === 0)
    java.send('run 1')
    await java.line(/done/, 2)
  })

  it('record over TLS needs the key of the proxy, and the proxy does not answer a client without the key', async () => {
    const java = await knownTree(jdk)
    const { port, key, process: listener } = await startListener()
    const target = `tcp://127.0.0.1:${port}/${java.pid}`
    const file = newFile()
    const args = ['record', target, ...ROOT, '--out', file, '--duration']
    const wrong = startClient({ env: { JFLUID_PROXY_KEY: newKey().text } }, ...args, '10m')
    expect((await wrong.exit).code).toBe(77)
    expect(wrong.stderr()).toMatch(/the proxy at tcp:\S+ does not accept this key/)
    const client = startClient({ env: { JFLUID_PROXY_KEY: key } }, ...args, '10m')
    await stderrLine(client, /root fix.KnownTree.task: 1 method/)
    java.send('run 1')
    await java.line(/done/)
    client.child.kill('SIGINT')
    expect((await client.exit).code, client.stderr()).toBe(0)
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expectedCalls(java))
    listener.child.kill('SIGTERM')
    expect((await listener.exit).code).toBe(143)
  })
})
