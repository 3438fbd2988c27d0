// Requests to the agent while a redefinition runs. The agent executes most requests only after the redefinition, which may itself wait for
// the agent, so such a request must not be sent while a redefinition runs.

import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/wire/agent.ts'
import type { Link } from '../../src/wire/link.ts'

const SWAPPED = [[], 0, 1, 0, 1, false]

/** A link whose agent answers each request when told to. */
class FakeLink {
  /** Names of the requests and, with an exclamation mark, of the answers, in order. */
  readonly said: string[] = []
  readonly #answers: (() => void)[] = []
  readonly #failures: ((error: Error) => void)[] = []

  request(op: string): Promise<unknown> {
    this.said.push(op)
    return new Promise((resolve, reject) => {
      this.#answers.push(() => {
        this.said.push(`${op}!`)
        resolve(op === 'redefineMethods' ? SWAPPED : op === 'classBytes' ? [null] : new Uint8Array(8))
      })
      this.#failures.push(reject)
    })
  }

  /** Answers the oldest request. */
  answer(): void {
    this.#failures.shift()
    this.#answers.shift()?.()
  }

  /** Answers the oldest request with an error. */
  refuse(): void {
    this.#answers.shift()
    this.#failures.shift()?.(new Error('refused'))
  }
}

const agentOf = (link: FakeLink) => new Agent(link as unknown as Link)

async function microtasks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null
}

const peek = (agent: Agent): Promise<unknown> => agent.peek(8, new Uint8Array(8))
const redefine = (agent: Agent): Promise<unknown> => agent.redefineMethods([], [], 0)

describe('requests while a redefinition runs', () => {
  it('no other request is sent between a redefinition and its answer, even if both are requested at the same time', async () => {
    for (const [first, second] of [
      [peek, redefine],
      [redefine, peek],
    ] as const) {
      for (let apart = 0; apart < 12; apart++) {
        const link = new FakeLink()
        const agent = agentOf(link)
        const both = [
          first(agent),
          apart === 0 ? second(agent) : microtasks(apart - 1).then(() => second(agent)),
        ]
        await microtasks(30)
        link.answer()
        await microtasks(30)
        link.answer()
        await Promise.all(both)
        expect(link.said.join(' '), `${apart} microtasks apart`).toMatch(
          /^(peek (peek! redefineMethods|redefineMethods peek!) redefineMethods!|redefineMethods redefineMethods! peek peek!)$/,
        )
      }
    }
  })

  it('a redefinition waits for the end of an earlier one', async () => {
    const link = new FakeLink()
    const agent = agentOf(link)
    const both = [redefine(agent), redefine(agent)]
    await microtasks(30)
    expect(link.said).toEqual(['redefineMethods'])
    link.answer()
    await microtasks(30)
    expect(link.said).toEqual(['redefineMethods', 'redefineMethods!', 'redefineMethods'])
    link.answer()
    await Promise.all(both)
  })

  it('samples and settings wait for the end of a redefinition', async () => {
    for (const send of [
      (agent: Agent) => agent.insideSamples(),
      (agent: Agent) => agent.sampleInside([]),
      (agent: Agent) => agent.neverWait(),
    ]) {
      const link = new FakeLink()
      const agent = agentOf(link)
      const swap = redefine(agent)
      send(agent).catch(() => {}) // the link's answer has no samples
      await microtasks(30)
      expect(link.said).toEqual(['redefineMethods'])
      link.answer()
      await swap
      await microtasks(30)
      expect(link.said).toHaveLength(3)
    }
  })

  it('after a refused redefinition, requests are sent', async () => {
    const link = new FakeLink()
    const agent = agentOf(link)
    const refused = expect(redefine(agent)).rejects.toThrow('refused')
    const later = peek(agent)
    await microtasks(30)
    link.refuse()
    await refused
    await microtasks(30)
    expect(link.said).toEqual(['redefineMethods', 'peek'])
    expect(agent.swapIsSlow).toBe(false)
    link.answer()
    await later
  })

  it('bytes of classes that are not redefined are read during a redefinition', async () => {
    const link = new FakeLink()
    const agent = agentOf(link)
    const swap = agent.redefineMethods([{ classId: 1, methodIndex: 0, code: new Uint8Array() }], [], 0)
    await microtasks(30)
    const other = agent.classBytes([2])
    const same = agent.classBytes([1])
    await microtasks(30)
    expect(link.said).toEqual(['redefineMethods', 'classBytes'])
    link.answer()
    await swap
    await microtasks(30)
    expect(link.said).toEqual(['redefineMethods', 'classBytes', 'redefineMethods!', 'classBytes'])
    link.answer()
    link.answer()
    await Promise.all([other, same])
  })
})
