// One end of a link between two network namespaces (distant-link.ts): a TUN device. Packets from the device are written to stdout, and
// packets from stdin are sent to the device. Each packet follows its length (two bytes, little-endian). A length of 0 reports that the
// device exists.
//
//   ip netns exec <name> node tun-end.mjs <name of the device>

import { openSync, read, write } from 'node:fs'
import { createRequire } from 'node:module'

// linux/if_tun.h, linux/if.h
const TUNSETIFF = 0x400454ca
const IFF_TUN = 1
const IFF_NO_PI = 0x1000
const IFNAMSIZ = 16
const IFREQ_BYTES = 40
const MOST_PACKET = 65_535

const koffi = createRequire(import.meta.url)('koffi')
const ioctl = koffi.load(null).func('int ioctl(int, unsigned long, void *)')

const device = openSync('/dev/net/tun', 'r+')
const request = Buffer.alloc(IFREQ_BYTES)
request.write(process.argv[2], 0, IFNAMSIZ - 1, 'latin1')
request.writeUInt16LE(IFF_TUN | IFF_NO_PI, IFNAMSIZ)
if (ioctl(device, TUNSETIFF, request) !== 0) throw new Error('TUNSETIFF was refused')
process.stdout.write(Buffer.alloc(2))

const packet = Buffer.alloc(MOST_PACKET)
function next() {
  read(device, packet, 0, MOST_PACKET, null, (error, length) => {
    if (error !== null) throw error
    const framed = Buffer.allocUnsafe(2 + length)
    framed.writeUInt16LE(length, 0)
    packet.copy(framed, 2, 0, length)
    process.stdout.write(framed)
    next()
  })
}
next()

let rest = Buffer.alloc(0)
process.stdin.on('data', (bytes) => {
  rest = Buffer.concat([rest, bytes])
  while (rest.length >= 2) {
    const end = 2 + rest.readUInt16LE(0)
    if (rest.length < end) return
    // A device that is down or has no space loses the packet, as a network may.
    write(device, rest, 2, end - 2, null, () => {})
    rest = Buffer.from(rest.subarray(end))
  }
})
process.stdin.on('end', () => process.exit())
