// Connections to a proxy: addresses, the arguments and messages of ssh, and authentication by a key.

import { once } from 'node:events'
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listenAddress } from '../../src/commands/proxy-listen.ts'
import { type RemoteAddress, remoteAddress } from '../../src/remote/address.ts'
import { Caller } from '../../src/remote/caller.ts'
import { NoProxyKey, WrongProxyKey } from '../../src/remote/errors.ts'
import { IDENTITY, keyInFile, keyOfEnvironment, newKey, TLS } from '../../src/remote/key.ts'
import { sshWay, tcpWay } from '../../src/remote/transports.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const at = (text: string): RemoteAddress => remoteAddress(text)!

describe('a proxy address', () => {
  it.each([
    ['ssh://shop7/4711', 'ssh', null, 'shop7', null, '4711', 'ssh://shop7'],
    ['ssh://me@shop7:2222/shop.Main', 'ssh', 'me', 'shop7', 2222, 'shop.Main', 'ssh://me@shop7:2222'],
    ['tcp://[::1]:7071/4711', 'tcp', null, '::1', 7071, '4711', 'tcp://[::1]:7071'],
    ['ssh://shop7', 'ssh', null, 'shop7', null, '', 'ssh://shop7'],
  ])('the address %s is parsed', (text, by, user, host, port, target, where) => {
    expect(remoteAddress(text)).toEqual({ by, user, host, port, target, where })
  })

  it('an address without a scheme is a process id or main class, not a remote address', () => {
    expect([remoteAddress('4711'), remoteAddress('shop.Main'), remoteAddress('https://x/1')]).toEqual([
      ...[null, null, null],
    ])
  })

  it.each([
    ['ssh:///1', /no host/],
    ['ssh://-oProxyCommand=x/1', /begins with '-'/],
    ['ssh://-l@host/1', /begins with '-'/],
    ['ssh://@host/1', /the name of the user is empty/],
    ['ssh://me:secret@host/1', /^'ssh:\/\/me:…@host' is not an address of a JVM: it contains a password/],
    ['ssh://host:ssh/1', /'ssh' is not a port/],
    ['tcp://host:65536/1', /'65536' is not a port/],
    ['tcp://host/1', /tcp needs a port/],
    ['tcp://me@host:1/1', /with tcp has no user/],
    ['ssh://::1/1', /no host/],
    ['ssh://[::1]x/1', /it does not have the form ssh:/],
  ])('the address %s is refused', (text, said) => {
    expect(() => remoteAddress(text)).toThrow(said)
  })

  it('a proxy listens only on the local machine unless the address contains a host', () => {
    expect(listenAddress('7071')).toEqual({ host: '127.0.0.1', port: 7071 })
    expect(listenAddress('[::]:0')).toEqual({ host: '::', port: 0 })
    for (const text of ['shop7:1', '1:2', ':1', '1.2.3.4', '70000'])
      expect(() => listenAddress(text)).toThrow()
  })
})

describe('a proxy key', () => {
  const directory = () => temporaryDirectory('jfluid-key-')

  it('a key file is created once, readable only by its owner', () => {
    const path = join(directory(), 'k')
    const key = keyInFile(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(keyInFile(path)).toEqual(key)
    expect(keyOfEnvironment({ JFLUID_PROXY_KEY_FILE: path })).toEqual(key)
    expect(keyOfEnvironment({ JFLUID_PROXY_KEY: readFileSync(path, 'utf8') })).toEqual(key)
    expect(keyOfEnvironment({})).toBeNull()
  })

  it('a key file is refused if other users can read the file, if the file is a link, or if the key is invalid', () => {
    const path = join(directory(), 'k')
    keyInFile(path)
    symlinkSync(path, `${path}.link`)
    writeFileSync(`${path}.other`, 'secret\n', { mode: 0o600 })
    expect(() => keyInFile(`${path}.link`)).toThrow(NoProxyKey)
    expect(() => keyInFile(`${path}.other`)).toThrow(/does not contain a key/)
    expect(() => keyOfEnvironment({ JFLUID_PROXY_KEY: 'secret' })).toThrow(
      /JFLUID_PROXY_KEY does not contain a key/,
    )
    expect(() => keyOfEnvironment({ JFLUID_PROXY_KEY_FILE: `${path}.none` })).toThrow(/ENOENT/)
    chmodSync(path, 0o640)
    expect(() => keyInFile(path)).toThrow(/other users can read/)
  })
})

describe('connections by TLS', () => {
  async function listener(key: Buffer): Promise<RemoteAddress> {
    const server = createServer(
      { ...TLS, pskCallback: (_, who) => (who === IDENTITY ? key : null) },
      (socket) => socket.end('let in'),
    )
    server.on('tlsClientError', (_, socket) => socket.destroy())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return at(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}/1`)
  }

  it('a client with the key is accepted', async () => {
    const { key } = newKey()
    const socket = await tcpWay(await listener(key), key).connect(false)
    const [said] = (await once(socket, 'data')) as [Buffer]
    expect(said.toString()).toBe('let in')
    socket.destroy()
  })

  it("a client with another key than the proxy's gets an error", async () => {
    const address = await listener(newKey().key)
    await expect(tcpWay(address, newKey().key).connect(false)).rejects.toBeInstanceOf(WrongProxyKey)
  })

  it('a client that is disconnected before authentication retries a few times', async () => {
    const { key } = newKey()
    const behind = await listener(key)
    let [calls, hangUps] = [0, 2]
    const server = createTcpServer((socket) => {
      calls++
      socket.on('error', () => {}) // the peer may close it at any time
      if (hangUps-- > 0) socket.destroy()
      else socket.pipe(connectTcp(behind.port!, '127.0.0.1')).pipe(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const way = tcpWay(at(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}/1`), key)
    const socket = await way.connect(false)
    socket.destroy()
    expect(calls).toBe(3)
    hangUps = Number.POSITIVE_INFINITY
    await expect(way.connect(false)).rejects.toThrow(/the other end closed the connection/)
    expect(calls).toBe(7)
    await expect(way.connect(true)).rejects.toThrow(/the other end closed the connection/)
    expect(calls).toBe(8)
  })

  it('connecting to a closed port, and to a listener without TLS, ends with different errors', async () => {
    const { key } = newKey()
    await expect(tcpWay(at('tcp://127.0.0.1:1/1'), key).connect(false)).rejects.toThrow(
      /no program listens there/,
    )
  })
})

describe('connections by ssh', () => {
  /** Runs `script` in place of ssh, with ssh's arguments. */
  async function said(script: string, address = 'ssh://me@there:2222/1', more: NodeJS.ProcessEnv = {}) {
    const ssh = join(temporaryDirectory('jfluid-ssh-'), 'ssh')
    writeFileSync(ssh, `#!/bin/sh\n${script}\n`)
    chmodSync(ssh, 0o755)
    const env = { ...process.env, JFLUID_SSH: ssh, ...more }
    const error = await Caller.connect(sshWay(at(address), env), '1.2.3').catch((it: unknown) => it)
    return error as Error & { exitCode: number; hint: string }
  }

  it('ssh gets the host and the command', async () => {
    expect((await said('printf "%s|" "$@"')).message).toContain(
      '-T|-p|2222|--|me@there|jfluid proxy --stdio|',
    )
    const env = { JFLUID_PROXY_COMMAND: '/opt/jfluid proxy --stdio' }
    expect((await said('printf "%s|" "$@"', 'ssh://there/1', env)).message).toContain(
      '-T|--|there|/opt/jfluid proxy --stdio|',
    )
  })

  it('messages of ssh are shown', async () => {
    const refused = await said('echo "me@there: Permission denied (publickey)." >&2; exit 255')
    expect([refused.exitCode, refused.message]).toEqual([
      68,
      expect.stringMatching(
        /^cannot connect to a proxy \(ssh:\/\/me@there:2222\): .*ended with 255: me@there: Permission denied/,
      ),
    ])
    const none = await said('exec sh -c jfluid-that-is-not')
    expect(none.message).toMatch(/ended with 127: .*not found/)
    expect(none.hint).toMatch(/Install jfluid on that machine/)
  })

  it('it is reported if ssh is not installed', async () => {
    const env = { ...process.env, JFLUID_SSH: 'no-such-ssh' }
    const error = await Caller.connect(sshWay(at('ssh://there/1'), env), '1.2.3').catch((it: unknown) => it)
    expect((error as Error).message).toMatch(/cannot connect to a proxy .*no-such-ssh ended with 127/)
  })

  it('a greeting of a login script is shown', async () => {
    const greeted = await said('echo "Welcome to shop7"; cat')
    expect([greeted.exitCode, greeted.message]).toEqual([
      76,
      expect.stringMatching(/it sent "Welcome to shop7/),
    ])
  })
})
