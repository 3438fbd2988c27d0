import { createServer, type Server } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { NobodyAtPort, NotDebuggerPort, openDebuggerPort } from '../../../src/session/doors/debugger-port.ts'

const servers: Server[] = []
afterEach(() => {
  for (const it of servers.splice(0)) it.close()
})

/** Starts a server that does not answer with the JDWP handshake. */
const listen = async (port = 0): Promise<number> => {
  const server = createServer((socket) => socket.on('error', () => undefined).end('HTTP/1.1 400\r\n\r\n'))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

const free = async (): Promise<number> => {
  const port = await listen()
  await new Promise((resolve) => servers.pop()!.close(resolve))
  return port
}

it('a connection to a debugger port is retried if the port refuses the first connection', async () => {
  const port = await free()
  const opened = openDebuggerPort({ host: '127.0.0.1', port }).catch((problem: unknown) => problem)
  setTimeout(() => void listen(port), 200)
  expect(await opened).toBeInstanceOf(NotDebuggerPort)
})

it('a debugger port that keeps refusing connections is reported', async () => {
  await expect(openDebuggerPort({ host: '127.0.0.1', port: await free() })).rejects.toThrow(NobodyAtPort)
})
