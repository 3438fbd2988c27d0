// Other programs at the socket of a session, and invalid data from both ends: the target continues, and the session continues or ends.

import { existsSync, readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { it } from 'vitest'
import { JfluidError } from '../../src/base/errors.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { Session } from '../../src/session/session.ts'
import { Agent } from '../../src/wire/agent.ts'
import { encodeFrame } from '../../src/wire/frame.ts'
import { Link } from '../../src/wire/link.ts'
import { mutated } from '../security/mutate.ts'
import type { JavaProcess } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type Chance, type Outcome, times, trials } from './trials.ts'
import { Witness } from './witness.ts'

/** Maximum time for the start and the end of a session. */
const SOON_MS = 30_000

/** Requests of a client that change nothing. Random data may form a valid command, which the agent may execute. */
const COMMANDS: readonly (readonly unknown[])[] = [
  ...[['hello'], ['status'], ['loadedClasses'], ['classBytes', [1, 2, 3]], ['stackTraces', 64], ['inside']],
  ...[
    ['watch', false],
    ['mirrorWords', 8, [1, 2]],
    ['peek', 8, Buffer.alloc(16, 1)],
    ['reclaim'],
    ['no such command'],
  ],
]

const socketOf = (link: Link): Socket => (link as unknown as { socket: Socket }).socket

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${SOON_MS} ms`)), SOON_MS)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Waits until the target has no remains of the session, and returns the result. */
async function outcome(witness: Witness, profile: Outcome['profile']): Promise<Outcome> {
  const gone = await inTime(witness.withoutThreads())
  await inTime(witness.ownCode())
  const { harm, longest } = await witness.harm()
  return { harm, profile, left: await witness.left(), ms: { 'stood still': longest, 'own again': gone } }
}

/** Runs an authenticated client that sends invalid data, immediately or while it records. */
async function garbage(witness: Witness, chance: Chance): Promise<Outcome> {
  const door = await attachDoor(witness.pid)
  if (chance.next() < 0.5) {
    door.leave()
    await new Agent(door.link).hello()
    speakNonsense(socketOf(door.link), chance)
    socketOf(door.link).end()
    await inTime(door.link.closed)
    return await outcome(witness, 'none')
  }
  try {
    const session = await inTime(Session.start(door, optionsOf(chance)))
    await witness.rate(50)
    if (!(await witness.hasProbes())) throw new Error('there are no probes')
    speakNonsense(socketOf(door.link), chance)
    await witness.rate(50)
    await inTime(session.detach())
    await inTime(session.profile())
    await session.close()
  } catch (error) {
    if (!(error instanceof JfluidError)) throw error
  } finally {
    door.link.close()
    door.leave()
  }
  return await outcome(witness, 'none')
}

const optionsOf = (chance: Chance) =>
  sessionOptions({ root: ['fix.Witness.root'], scheme: chance.of(['a', 'b']) })

function speakNonsense(socket: Socket, chance: Chance): void {
  for (let i = 0; i < 40 && !socket.destroyed; i++) {
    const frame = encodeFrame([1 + Math.floor(chance.next() * 100), ...chance.of(COMMANDS)])
    const whole = chance.next() < 0.8 && frame.length > 4
    const body = mutated(whole ? frame.subarray(4) : frame, chance)
    const header = Buffer.alloc(4)
    header.writeUInt32LE(body.length)
    socket.write(whole ? Buffer.concat([header, body]) : body)
  }
}

/** Makes the connection to the agent sometimes change a byte of the agent's data. */
function damaged(link: Link, chance: Chance, often: number): Link {
  const socket = socketOf(link)
  socket.removeAllListeners('data')
  let read = Buffer.alloc(0)
  const between = new Duplex({
    allowHalfOpen: false,
    read() {},
    write: (chunk: Buffer, _encoding, done) => {
      socket.write(chunk)
      done()
    },
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('close', () => between.destroy())
  socket.on('data', (chunk: Buffer) => {
    read = Buffer.concat([read, chunk])
    while (read.length >= 4 && read.length >= 4 + read.readUInt32LE(0)) {
      const frame = Buffer.from(read.subarray(0, 4 + read.readUInt32LE(0)))
      read = read.subarray(frame.length)
      const from = 4 + 8
      if (frame.length > from && chance.next() < often) {
        for (let i = 0; i < 3; i++)
          frame[from + Math.floor(chance.next() * (frame.length - from))] = chance.next() * 256
      }
      between.push(frame)
    }
  })
  return new Link(between as unknown as Socket)
}

/** Runs an agent that sometimes sends invalid data. */
async function nonsense(witness: Witness, chance: Chance): Promise<Outcome> {
  const door = await attachDoor(witness.pid)
  const link = damaged(door.link, chance, chance.of([0.02, 0.1, 0.5]))
  const session = Session.start({ ...door, link }, optionsOf(chance))
  try {
    const begun = await inTime(session)
    await witness.rate(100)
    await inTime(begun.detach())
    await inTime(begun.profile())
    await begun.close()
  } catch (error) {
    if (!(error instanceof JfluidError)) throw error
  } finally {
    link.close()
    door.leave()
  }
  return await outcome(witness, 'none')
}

/** Returns the socket of the session, or null if it was missed: the file is removed when the agent has connected. */
async function socketOfSession(client: JavaProcess): Promise<string | null> {
  const mine = new RegExp(`^jfluid-\\d+-${client.pid}-`)
  for (;;) {
    const dir = readdirSync('/dev/shm').find((name) => mine.test(name))
    const link = dir && join('/dev/shm', dir, 'link')
    if (link !== undefined && existsSync(link)) return link
    if (/recording/.test(client.stderr())) return null
    if (client.child.exitCode !== null) throw new Error(`the client has ended:\n${client.stderr()}`)
    await setImmediate()
  }
}

/** Connects other processes of the same user to the socket before the agent. Runs up to ten sessions, until a process is fast enough. */
async function strangers(witness: Witness, chance: Chance): Promise<Outcome> {
  for (let session = 0; session < 10; session++) {
    const { connected, kept } = await sessionWithStrangers(witness, chance)
    if (connected > 0) return await outcome(witness, kept ? 'kept' : 'lost')
  }
  throw new Error('no stranger has connected before the agent, in ten sessions')
}

async function sessionWithStrangers(witness: Witness, chance: Chance) {
  const recording = startRecording(witness.pid, '--root', 'fix.Witness.root')
  const link = await socketOfSession(recording.process)
  const sockets: Socket[] = []
  let connected = 0
  for (let i = 0; link !== null && i < 50; i++) {
    const socket = connect(link, () => {
      connected++
      socket.write(chance.of(['', 'x'.repeat(32), '0'.repeat(200)]))
    })
    socket.on('error', () => socket.destroy()) // the server has closed the socket or the connection
    sockets.push(socket)
  }
  await inTime(recording.started)
  await witness.rate(100)
  const profile = await inTime(recording.stop())
  for (const socket of sockets) socket.destroy()
  return { connected, kept: profile.merged.some((it) => it.method === 'root') }
}

const FAULTS: readonly [
  what: string,
  trial: (witness: Witness, chance: Chance) => Promise<Outcome>,
  long: number,
][] = [
  ['a client that has been let in sends garbage', garbage, 30],
  ['an agent says what it does not mean', nonsense, 30],
  ['50 others connect to the socket of a session', strangers, 20],
]

forNewestJdk((jdk: Jdk) => {
  it('invalid data at the socket of a session does not harm the target', {
    timeout: FULL ? 3_600_000 : 120_000,
  }, async () => {
    const witness = await Witness.start(jdk)
    await witness.settle()
    for (const [what, trial, long] of FAULTS) {
      await trials(what, jdk, times(1, long), (chance) => trial(witness, chance))
    }
    await witness.end()
  })
})
