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

  request(op: string): Promise<unknown> {
    this.said.push(op)
    return new Promise((resolve) => {
      this.#answers.push(() => {
        this.said.push(`${op}!`)
        resolve(op === 'redefineMethods' ? SWAPPED : new Uint8Array(8))
      })
    })
  }

  /** Answers the oldest request. */
  answer(): void {
    this.#answers.shift()?.()
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
})
