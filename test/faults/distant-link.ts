// Two network namespaces with a link that delays and drops packets. The link consists of two TUN devices, since a kernel may lack netem.

import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Chance } from './trials.ts'

const END = fileURLToPath(new URL('tun-end.mjs', import.meta.url))
/** MTU of Ethernet, in bytes. The kernel splits longer data into packets of this size. */
const MTU = 1500

export interface LinkOptions {
  /** Delay in one direction. */
  readonly delayMs: number
  /** Share of dropped packets, 0 to 1. */
  readonly loss: number
}

interface End {
  readonly namespace: string
  readonly address: string
  send(packet: Buffer): void
  close(): void
}

export interface Link {
  readonly here: Pick<End, 'namespace' | 'address'>
  readonly there: Pick<End, 'namespace' | 'address'>
  /** Drops all packets. */
  isCut: boolean
  /** Bytes of all IP packets sent over the link, including headers and retransmissions. */
  readonly bytes: { toHere: number; toThere: number }
  readonly packets: { sent: number; lost: number }
  close(): void
}

const ip = (...args: string[]): void => {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** @throws Error if there is no ip(8) or no TUN device, or if the user is not root */
export async function link({ delayMs, loss }: LinkOptions, chance: Chance): Promise<Link> {
  const name = `jf${process.pid}`
  const state = { isCut: false, bytes: { toHere: 0, toThere: 0 }, packets: { sent: 0, lost: 0 } }
  const ends: { here?: End; there?: End } = {}
  const deliver = (to: 'here' | 'there', direction: 'toHere' | 'toThere') => (packet: Buffer) => {
    state.bytes[direction] += packet.length
    state.packets.sent++
    if (state.isCut || chance.next() < loss) state.packets.lost++
    else setTimeout(() => ends[to]?.send(packet), delayMs)
  }
  const here = await end(`${name}a`, '10.77.0.1', '10.77.0.2', deliver('there', 'toThere'))
  ends.here = here
  const there = await end(`${name}b`, '10.77.0.2', '10.77.0.1', deliver('here', 'toHere'))
  ends.there = there
  return Object.assign(state, {
    ...{ here, there },
    close() {
      here.close()
      there.close()
    },
  })
}

async function end(
  namespace: string,
  address: string,
  peer: string,
  take: (packet: Buffer) => void,
): Promise<End> {
  ip('netns', 'add', namespace)
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, END, 'jf0'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => {}) // the test is over
  await new Promise<void>((resolve, reject) => {
    let rest = Buffer.alloc(0)
    child.stdout.on('data', (more: Buffer) => {
      rest = Buffer.concat([rest, more])
      while (rest.length >= 2) {
        const length = rest.readUInt16LE(0)
        if (rest.length < 2 + length) return
        if (length === 0) resolve()
        else take(Buffer.from(rest.subarray(2, 2 + length)))
        rest = rest.subarray(2 + length)
      }
    })
    child.once('exit', (code) => reject(new Error(`no TUN device in ${namespace}: ended with ${code}`)))
  })
  ip('-n', namespace, 'addr', 'add', address, 'peer', peer, 'dev', 'jf0')
  ip('-n', namespace, 'link', 'set', 'jf0', 'mtu', `${MTU}`, 'up')
  ip('-n', namespace, 'link', 'set', 'lo', 'up')
  return {
    namespace,
    address,
    send(packet) {
      const framed = Buffer.allocUnsafe(2 + packet.length)
      framed.writeUInt16LE(packet.length, 0)
      packet.copy(framed, 2)
      child.stdin.write(framed)
    },
    close() {
      child.kill('SIGKILL')
      ip('netns', 'del', namespace)
    },
  }
}
