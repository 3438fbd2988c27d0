// The client side of an event buffer that is read over a network, with invalid agents.

import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { LAST, MORE } from '../../../src/events/remote-ring.ts'
import { MirrorFeed } from '../../../src/session/recorder/mirror-feed.ts'
import { newToken } from '../../../src/wire/link.ts'

/** Kind of a round that is followed by another round (Feeder.java). */
const WHOLE = 1

const head = (kind: number, bytes: number): Buffer => Buffer.from(Uint32Array.of(kind, bytes, 0, 0, 0).buffer)

async function feedWith(answer: (agent: Socket) => void, silentMs?: number) {
  const token = newToken()
  let tell: (problem: unknown) => void = () => {}
  const problem = new Promise<unknown>((told) => {
    tell = told
  })
  const at = { host: '127.0.0.1', from: '127.0.0.1' }
  const feed = await MirrorFeed.listen({ at, token }, (it) => tell(it), silentMs)
  onTestFinished(() => feed.close())
  const agent = connect(feed.port, '127.0.0.1')
  agent.on('error', () => {})
  agent.write(token)
  agent.on('data', () => answer(agent))
  const closed = new Promise<void>((gone) => agent.on('close', () => gone()))
  return { feed, problem, closed }
}

it('the feed of event data ends after it has confirmed the last round of data', async () => {
  let questions = 0
  const { feed, closed } = await feedWith((agent) => {
    if (++questions === 1) agent.write(head(LAST, 0))
    else agent.end()
  })
  await closed
  expect([questions, feed.ring.age(), feed.ring.isWhole]).toEqual([2, 0, true])
})

it('the feed of event data accepts an answer that arrives byte by byte', async () => {
  let questions = 0
  const { closed } = await feedWith((agent) => {
    questions++
    if (questions > 2) agent.end()
    else for (const byte of head(questions === 1 ? MORE : LAST, 0)) agent.write(Buffer.of(byte))
  })
  await closed
  expect(questions).toBe(3)
})

it('the feed closes the connection to an agent that stops sending', async () => {
  let questions = 0
  const { feed, problem, closed } = await feedWith((agent) => {
    if (++questions < 3) agent.write(head(WHOLE, 0))
  }, 300)
  expect(String(await problem)).toContain('the JVM sent no events for 0.3 s')
  await closed
  expect(feed.ring.isWhole).toBe(false)
})

it.each([
  ['an answer that is too long', [head(MORE, 2 ** 31)]],
  ['more data than requested', [head(LAST, 0), head(LAST, 0)]],
  ['an entry without an end', [head(LAST, 8), Buffer.alloc(8)]],
])('the feed closes the connection to an agent that sends %s', async (_what, sent) => {
  const { problem, closed } = await feedWith((agent) => agent.write(Buffer.concat(sent)))
  expect(String(await problem)).toMatch(/^MalformedRound|received malformed events/)
  await closed
})

it('the feed closes the connection to an agent that sends a round of data without an end', async () => {
  const much = 1 << 19
  const { feed, problem, closed } = await feedWith((agent) =>
    agent.write(Buffer.concat([head(MORE, much), Buffer.alloc(much)])),
  )
  expect(String(await problem)).toContain('a round that has no end')
  await closed
  expect(feed.ring.isWhole).toBe(false)
})
