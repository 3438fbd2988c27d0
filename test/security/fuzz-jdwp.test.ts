// A hostile JVM. The client answers any data on a debugger connection with a value or one of its own errors, within limits of time
// and memory. The inputs are mutations of packets from a real JVM (test/jdwp-client/conversation.json.gz).

import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/jdwp-client/commands.ts'
import {
  EventsNotTaken,
  JdwpLost,
  JdwpRefused,
  JdwpSilent,
  JdwpTarget,
  MalformedJdwp,
} from '../../src/jdwp-client/index.ts'
import { encodeCommand } from '../../src/jdwp-client/packet.ts'
import { Chance } from '../faults/trials.ts'
import { asksOf } from '../jdwp-client/asks.ts'
import { MemoryPeer, reply } from '../jdwp-client/memory-peer.ts'
import { answersOf, readRecording } from '../jdwp-client/recording.ts'
import { inputs, LONG_MS, mutated, seedOf, tryInputs } from './mutate.ts'

const recording = readRecording()
const { replies, events } = answersOf(recording)
const ID_SIZES = replies.get('1/7')!
const EVENT = [64, 100] as const

/** Returns whether the client reports this error for such a JVM. Any other error is a defect. */
function isOurs(error: unknown): boolean {
  return [MalformedJdwp, JdwpLost, JdwpSilent, JdwpRefused, EventsNotTaken].some((it) => error instanceof it)
}

/** Returns a name of COMMANDS in the form `set/command`. */
function numbers(name: string): string {
  const [set, command] = name.split('.') as [keyof typeof COMMANDS, string]
  return `${COMMANDS[set].set}/${(COMMANDS[set].commands as Readonly<Record<string, number>>)[command]}`
}

/** Returns whether the packet was refused by an error of jfluid. */
async function refused(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked
    return false
  } catch (error) {
    if (!isOurs(error)) throw error
    return true
  }
}

describe('a debugger connection to a hostile JVM', { timeout: LONG_MS }, () => {
  it('any damaged reply is read as a value or reported as malformed, and the connection continues', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    let data: Buffer = ID_SIZES
    let error = 0
    const jvm = await JdwpTarget.over(
      new MemoryPeer((command, peer) => {
        peer.send(reply(command, data, error))
      }),
    )
    const asks = asksOf(jvm, recording.things)
    const tries = inputs(2000, 5_000_000)
    const told = await tryInputs('replies to a debugger', { tries, seed, mostMib: 300 }, async () => {
      const [name, ask] = chance.of(asks)
      // Sometimes a well-formed reply to another command is sent.
      const own = chance.next() < 0.9 ? replies.get(numbers(name)) : chance.of([...replies.values()])
      data = mutated((own ?? Buffer.alloc(8)).subarray(0, 20_000), chance)
      error = chance.next() < 0.02 ? Math.floor(chance.next() * 600) : 0
      return refused(ask())
    })
    expect(told.refused).toBeGreaterThan(told.tried / 10)
    expect(told.refused).toBeLessThan(told.tried)
    expect(jvm.connection.lost).toBe(undefined)
    data = Buffer.alloc(0)
    error = 0
    expect(await jvm.virtualMachine.suspend()).toEqual({ ok: true, value: undefined })
  })

  it('any damaged event is accepted or ends the connection', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    expect(events.length).toBeGreaterThan(0)
    const made = [...events, ...handmade()]
    const told = await tryInputs(
      'events to a debugger',
      { tries: inputs(500, 1_000_000), seed, mostMib: 300 },
      async () => {
        const jvm = await JdwpTarget.over(
          new MemoryPeer((command, peer) => {
            peer.send(reply(command, ID_SIZES))
            peer.send(encodeCommand(1, ...EVENT, mutated(chance.of(made), chance, 1)))
            peer.hangUp()
          }),
        ).catch((error: unknown) => {
          if (!isOurs(error)) throw error
          return null
        })
        if (jvm === null) return true
        await jvm.connection.closed
        if (!isOurs(jvm.connection.lost)) throw jvm.connection.lost
        return jvm.connection.lost instanceof MalformedJdwp
      },
    )
    expect(told.refused).toBeGreaterThan(0)
    expect(told.refused).toBeLessThan(told.tried)
  })

  it('any stream of bytes is read as packets or ends the connection', async () => {
    const seed = seedOf()
    const chance = new Chance(seed)
    const told = await tryInputs(
      'a stream to a debugger',
      { tries: inputs(500, 1_000_000), seed, mostMib: 300 },
      () =>
        refused(
          (async () => {
            const jvm = await JdwpTarget.over(
              new MemoryPeer((command, peer) => {
                const good = Buffer.concat([
                  reply(command, command.command === 7 ? ID_SIZES : replies.get('1/1')!),
                  encodeCommand(9, ...EVENT, chance.of(events)),
                ])
                peer.send(chance.next() < 0.5 ? good : mutated(good, chance))
                // If the mutation changed the header, there is no reply, because the packet matches no request.
                if (chance.next() < 0.5 || command.command !== 7) peer.hangUp()
              }),
              { replyMs: 1 },
            )
            await jvm.virtualMachine.version()
          })(),
        ),
    )
    expect(told.refused).toBeGreaterThan(0)
    expect(told.refused).toBeLessThan(told.tried)
  })
})

/** Returns one event of each kind, and two of unknown kinds, encoded with ids of 8 bytes. */
function handmade(): Buffer[] {
  const thread = '33'.repeat(8)
  const location = `01${'11'.repeat(16)}0000000000000007`
  const object = `4c${'22'.repeat(8)}`
  const place = `${thread}${location}`
  const field = `${place}01${'44'.repeat(16)}${object}`
  const monitor = `${thread}${object}${location}`
  const bodies: [kinds: number[], body: string][] = [
    [[1, 2, 40, 41], place],
    [[42], `${place}4900000001`],
    [[4], `${place}${object}${location}`],
    [[6, 7, 90], thread],
    [[8], `${thread}01${'44'.repeat(8)}000000034c413b00000007`],
    [[9], '000000034c413b'],
    [[20], field],
    [[21], `${field}4900000001`],
    [[43, 44], monitor],
    [[45], `${monitor}0000000000000005`],
    [[46], `${monitor}01`],
    [[99], ''],
    [[3, 200], '010203'],
  ]
  return bodies.flatMap(([kinds, body]) =>
    kinds.map((kind) => Buffer.from(`0200000001${kind.toString(16).padStart(2, '0')}00000005${body}`, 'hex')),
  )
}
