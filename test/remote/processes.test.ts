// The processes of a proxy, and peers that connect to them and send nothing or invalid data.

import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { packageVersion } from '../../src/base/package-root.ts'
import { remoteAddress } from '../../src/remote/address.ts'
import { Caller } from '../../src/remote/caller.ts'
import { NoProxyKey } from '../../src/remote/errors.ts'
import { keyOfFile, newKey } from '../../src/remote/key.ts'
import { PROTOCOL } from '../../src/remote/protocol.ts'
import { tcpWay } from '../../src/remote/transports.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { startListener } from '../live/proxy.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { itOnlyIf } from '../support/only-if.ts'

const NAME = 'cd'.repeat(16)
/** More connections than a listener accepts. */
const STRANGERS = 350

function connected(to: number | string): Socket {
  const socket = typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to)
  socket.on('error', () => {}) // the peer may close it at any time
  socket.resume()
  onTestFinished(() => void socket.destroy())
  return socket
}

it('a listener keeps its clients and accepts new clients while silent peers are connected', async () => {
  const { port, key } = await startListener()
  const way = tcpWay(remoteAddress(`tcp://127.0.0.1:${port}/1`)!, Buffer.from(key, 'base64url'))
  const client = async () => {
    const caller = await Caller.connect(way, packageVersion())
    onTestFinished(() => caller.close())
    return caller
  }
  const before = await client()
  const strangers = Array.from({ length: STRANGERS }, () => connected(port))
  await Promise.race(strangers.map((each) => once(each, 'close')))
  const after = await client()
  for (const caller of [before, after])
    await expect(caller.ask('status')).rejects.toThrow(/nothing has been started/)
})

/** Starts the process of a session. Returns the process and its address. */
async function session(grace: string): Promise<{ process: JavaProcess; tmp: string; path: string }> {
  const tmp = temporaryDirectory('jfluid-proxy-tmp-')
  const process_ = startProcess(process.execPath, [cli, 'proxy', '--grace', grace, '--session', NAME], {
    env: { TMPDIR: tmp },
  })
  await process_.line(/ready/)
  return { process: process_, tmp, path: join(tmp, `jfluid-proxy-${process.getuid?.()}`, NAME) }
}

it('the process of a session ends if the only client that connected sent invalid data', async () => {
  const { process: own, tmp, path } = await session('300ms')
  const socket = connected(path)
  socket.write(Buffer.alloc(64, 7))
  await once(socket, 'close')
  expect((await own.exit).code, own.stderr()).toBe(0)
  expect(readdirSync(tmp)).toEqual([])
})

it("a session's process ends on request while its client is connected, and leaves no file", async () => {
  const { process: own, tmp, path } = await session('10m')
  const socket = connected(path)
  socket.write(encodeFrame(['hello', PROTOCOL, packageVersion(), NAME, false]))
  await once(socket, 'data')
  own.child.kill('SIGTERM')
  expect((await own.exit).code, own.stderr()).toBe(143)
  expect(existsSync(path)).toBe(false)
  expect(readdirSync(tmp)).toEqual([])
})

itOnlyIf(process.getuid?.() === 0, 'only root can give a file to another user')(
  'a key file of another user is refused',
  () => {
    const directory = temporaryDirectory('jfluid-key-')
    const file = join(directory, 'key')
    writeFileSync(file, newKey().text)
    chmodSync(file, 0o600)
    expect(keyOfFile(file).length).toBe(32)
    chownSync(file, 65534, 65534)
    expect(() => keyOfFile(file)).toThrow(NoProxyKey)
  },
)
