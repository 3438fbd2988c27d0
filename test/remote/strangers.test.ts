// The connection that is closed if too many peers have not shown the key: never one from another address, and never the newest.

import { expect, it } from 'vitest'
import { type Stranger, Strangers } from '../../src/remote/strangers.ts'

const MOST = 256

class Connection implements Stranger {
  isGone = false
  bytesRead: number
  readonly remotePort: number
  readonly remoteAddress: string
  #onClose: () => void = () => {}

  constructor(remoteAddress: string, remotePort: number, bytesRead = 0) {
    this.remoteAddress = remoteAddress
    this.remotePort = remotePort
    this.bytesRead = bytesRead
  }

  destroy(): void {
    this.isGone = true
    this.#onClose()
  }

  once(_: 'close', listener: () => void): void {
    this.#onClose = listener
  }
}

const FLOOD = '10.0.0.66'

/** Adds this number of connections, each from its own port. */
function flood(to: Strangers, count: number, bytesRead: number): Connection[] {
  return Array.from({ length: count }, (_, port) => {
    const each = new Connection(FLOOD, port + 1, bytesRead)
    to.come(each)
    return each
  })
}

const alive = (all: readonly Connection[]) => all.filter(({ isGone }) => !isGone)

it('many connections from one address do not close connections from other addresses, and the total number is limited', () => {
  for (const bytesRead of [0, 224]) {
    const strangers = new Strangers()
    const client = new Connection('10.0.0.7', 1)
    strangers.come(client)
    const all = flood(strangers, 2000, bytesRead)
    expect(client.isGone).toBe(false)
    expect(alive(all)).toHaveLength(MOST - 1)
    // This is the newest connection, and it stays open.
    expect(all.at(-1)!.isGone).toBe(false)
  }
})

it('if one address has too many connections, connections that were silent for a second are closed first, beginning with the oldest', () => {
  let now = 0
  const strangers = new Strangers(
    () => 0,
    () => now,
  )
  const client = new Connection(FLOOD, 9999, 224)
  strangers.come(client)
  const all = flood(strangers, MOST - 1, 0)
  now = 1000
  const more = Array.from({ length: 3 }, (_, i) => new Connection(FLOOD, 10_000 + i))
  for (const each of more) strangers.come(each)
  expect(alive(all)).toEqual(all.slice(3))
  expect([client, ...more].map(({ isGone }) => isGone)).toEqual([false, false, false, false])
})

it('authenticated connections and closed connections are not counted for the connection limit', () => {
  const strangers = new Strangers()
  const all = flood(strangers, MOST, 224)
  const [first, second, ...others] = all
  strangers.leave({ remoteAddress: FLOOD, remotePort: first!.remotePort })
  second!.destroy()
  for (const port of [20_000, 20_001]) strangers.come(new Connection(FLOOD, port))
  expect(alive([first!, ...others])).toHaveLength(MOST - 1)
})
