import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { Turns } from '../../src/session/turns.ts'

describe('a queue of tasks', () => {
  it('a queue of tasks reports the error of a failed task, unless the caller of the task receives the error', async () => {
    const told: string[] = []
    const turns = new Turns((error) => told.push(String(error)))
    const order: string[] = []
    const fails = (name: string) => async () => {
      order.push(name)
      throw new Error(name)
    }
    const results = await Promise.allSettled([
      turns.enqueue(fails('own')),
      turns.request(fails('asked')),
      turns.enqueue(async () => void order.push('after')),
    ])
    assert.deepEqual(
      results.map((it) => it.status),
      ['rejected', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(order, ['own', 'asked', 'after'])
    assert.deepEqual(told, ['Error: own'])
  })

  it('a queue of tasks starts no task after it is closed', async () => {
    const turns = new Turns((error) => assert.fail(String(error)))
    turns.close()
    await turns.request(() => assert.fail('begun'))
  })
})
