// A port that JVMs connect to, and connections of other clients.

import { connect as connectSocket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { CannotListen, JdwpPort, NoJvmCame } from '../../src/jdwp-client/index.ts'

describe('a port for JVMs that connect', () => {
  it('a port that is already used is reported', async () => {
    await using port = await JdwpPort.open()
    await expect(JdwpPort.open({ port: port.port })).rejects.toThrow(CannotListen)
  })

  it('waiting for a JVM at a port times out, and the address of a connecting JVM is reported', async () => {
    await using port = await JdwpPort.open({ handshakeMs: 20 })
    await expect(port.accept({ timeoutMs: 20 })).rejects.toThrow(/no JVM has connected, in 20 ms/)
    const silent = connectSocket(port.port, port.host)
    silent.on('error', () => {})
    await new Promise((resolve) => silent.once('close', resolve).resume())
    await expect(port.accept({ timeoutMs: 20 })).rejects.toThrow(
      /a caller was no JVM \(no handshake within 20 ms\)/,
    )
  })

  it('closing a port ends all waits for a JVM, and the number of queued connections is limited', async () => {
    const port = await JdwpPort.open()
    const callers = Array.from({ length: 20 }, () => connectSocket(port.port, port.host))
    let hungUp = 0
    const four = new Promise<void>((resolve) => {
      for (const caller of callers) {
        caller.on('error', () => {}).resume()
        caller.on('close', () => {
          if (++hungUp === 4) resolve()
        })
      }
    })
    await four // 16 of the 20 connections wait for the handshake
    const waiting = port.accept()
    await port.close()
    await expect(waiting).rejects.toThrow(NoJvmCame)
  })
})
