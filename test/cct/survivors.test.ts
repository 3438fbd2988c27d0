// Living objects, reported by the event buffer and by the agent, which are not synchronised.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type SurvivorNews, Survivors } from '../../src/cct/survivors.ts'

const numbers = (...of: number[]): Uint8Array => new Uint8Array(new BigInt64Array(of.map(BigInt)).buffer)

const news = (collections: number, came: number[], went: number[] = []): SurvivorNews => ({
  collections,
  untracked: 0,
  came: numbers(...came),
  went: numbers(...went),
})

const token = (place: number, generation: number): number => place * 512 + generation

function living(survivors: Survivors): [node: number, bytes: number, age: number][] {
  const found: [number, number, number][] = []
  survivors.forEach((...object) => {
    found.push(object)
  })
  return found
}

describe('objects that are still alive', () => {
  it('an object counts as alive when the ring buffer and the status have both reported the object, in any order', () => {
    const survivors = new Survivors()
    survivors.place(token(3, 0), 7)
    assert.deepEqual(living(survivors), [])
    survivors.hear(news(2, [token(3, 0), 1, 24, token(65535, 511), 2, 40]))
    assert.deepEqual(living(survivors), [[7, 24, 1]])
    survivors.place(token(65535, 511), 9)
    assert.deepEqual(living(survivors), [
      [7, 24, 1],
      [9, 40, 0],
    ])
    survivors.hear(news(5, [], [token(3, 0)]))
    assert.deepEqual(living(survivors), [[9, 40, 3]])
  })

  it('an object in a reused slot counts as alive when the ring buffer and the status report the same object', () => {
    const survivors = new Survivors()
    survivors.place(token(3, 0), 7)
    survivors.hear(news(0, [token(3, 0), 0, 24]))
    survivors.place(token(3, 1), 8) // the event buffer reports the object first
    assert.deepEqual(living(survivors), [])
    survivors.hear(news(1, [token(3, 1), 1, 32], [token(3, 0)]))
    assert.deepEqual(living(survivors), [[8, 32, 0]])
    survivors.hear(news(1, [token(3, 2), 1, 48], [token(3, 1)])) // the agent reports the object first
    assert.deepEqual(living(survivors), [])
    survivors.place(token(3, 2), 9)
    assert.deepEqual(living(survivors), [[9, 48, 0]])
  })

  it('a reset removes objects allocated before the reset', () => {
    const survivors = new Survivors()
    survivors.place(token(1, 0), 7)
    survivors.hear(news(0, [token(1, 0), 0, 24]))
    survivors.forget()
    assert.deepEqual(living(survivors), [])
  })
})
