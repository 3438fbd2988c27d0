// Remote JVMs by proxy, with a real sshd, and with clients and connections that end or are silent for long.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { forEachJdk, jdks } from '../support/jdks.ts'
import { callsByPath, lines, readProfileJson, stderrLine, sumsAreExact } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'
import {
  expectedCalls,
  exported,
  heldLink,
  knownTree,
  machine,
  newFile,
  nothingIsLeft,
  startClient,
  startListener,
} from './proxy.ts'
import { mappedFiles, until } from './remains.ts'
import { type SshMachine, sshMachine } from './sshd.ts'

const ROOT = ['--root', 'fix.KnownTree.task']

/** Twice the time after which a silent connection is closed. */
const SILENT_MS = 32_000

/** Returns the number of connections that this sshd has accepted. */
function connections(there: SshMachine): number {
  return there.log().match(/^Accepted publickey/gm)?.length ?? 0
}

// These tests use a real ssh. In proxy.jvm.test.ts a script replaces ssh.
describe.each(jdks)('a real sshd on JDK $version', (jdk) => {
  it('record over ssh records all calls although the connection was cut and sshd was down', async () => {
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
    expect(lines(callsByPath(profile.merged))).toEqual(await expectedCalls(java, 3))
    expect([sumsAreExact(profile.merged), profile.truncated]).toEqual([true, false])
    expect(connections(there)).toBeGreaterThanOrEqual(3)
    await nothingIsLeft(there, java)
  }, 120_000)

  it('attach shows the tree, reports a lost connection, and continues with the same counts', async () => {
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
      /connection to ssh:\/\/there .*recording continues: ssh ended with 255: .*refused/.test(
        screen.join('\n'),
      ),
    )
    java.send('run 2')
    await java.line(/done/, 2)
    await there.comeUp()
    await terminal.until((screen) => / 12 .*KnownTree\.task/.test(screen.join('\n')))
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expectedCalls(java, 3))
    await nothingIsLeft(there, java)
  }, 120_000)
})

forEachJdk((jdk) => {
  it('a live view whose proxy was terminated shows all data until the view is closed', async () => {
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
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expectedCalls(java))
  })

  it('the session of a killed client ends by itself after a timeout', async () => {
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

  it('the counts of record are exact after half a minute without network', async () => {
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
    expect(lines(callsByPath((await readProfileJson(file)).merged))).toEqual(await expectedCalls(java, 2))
    await until(() => mappedFiles(java.pid).every((name) => !name.includes('jfluid')))
  }, 120_000)
})
