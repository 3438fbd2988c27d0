// Delivery of events to receivers, and queueing of events without a receiver.

import { describe, expect, it } from 'vitest'
import { EventsNotTaken, JdwpLost } from '../../src/jdwp-client/errors.ts'
import { EventQueue, MAX_HELD, MAX_HELD_BYTES } from '../../src/jdwp-client/event-queue.ts'
import type { EventSet } from '../../src/jdwp-client/events.ts'

const death = (request: number): EventSet => ({
  ...{ suspendPolicy: 'NONE', events: [{ kind: 'VM_DEATH', request }] },
})

describe('delivery of an event', () => {
  it('an event is delivered only to the first waiter', async () => {
    const queue = new EventQueue()
    const heard: EventSet[] = []
    queue.listen((set) => heard.push(set))
    const [two, any, never] = [
      queue.next('VM_DEATH', { request: 2 }),
      queue.next(['VM_START', 'VM_DEATH']),
      queue.next('BREAKPOINT', { timeoutMs: 5 }),
    ]
    for (const request of [1, 2, 3]) queue.push(death(request), 10)
    expect((await two)?.event.request).toBe(2)
    expect((await any)?.event.request).toBe(1)
    expect(heard).toEqual([death(3)])
    expect(await never).toBe(null)
  })

  it('an event that arrives before any waiter or listener is kept for the next waiter or listener', async () => {
    const queue = new EventQueue()
    for (const request of [1, 2, 3]) queue.push(death(request), 10)
    expect((await queue.next('VM_DEATH', { where: (event) => event.request > 1 }))?.event.request).toBe(2)
    const heard: EventSet[] = []
    const stop = queue.listen((set) => heard.push(set))
    expect(heard).toEqual([death(1), death(3)])
    stop()
    queue.push(death(4), 10)
    expect(queue.held).toBe(1)
    queue.end(new JdwpLost('over'))
    expect((await queue.next('VM_DEATH'))?.event.request).toBe(4) // events received before stay available
    await expect(queue.next('VM_DEATH')).rejects.toThrow(JdwpLost)
  })

  it('if a listener throws, its event and later events are not lost', async () => {
    const queue = new EventQueue()
    for (const request of [1, 2, 3]) queue.push(death(request), 10)
    const first = () => {
      throw new Error('not this one')
    }
    expect(() => queue.listen(first)).toThrow('not this one')
    queue.push(death(4), 10) // not delivered: the listener has been removed
    expect(queue.held).toBe(3)
    const heard: EventSet[] = []
    queue.listen((set) => heard.push(set))
    expect(heard).toEqual([2, 3, 4].map(death))
  })

  it("waiting for an event ends when the connection ends; if a waiter's condition throws, that waiter gets the exception", async () => {
    const queue = new EventQueue()
    const lost = queue.next('VM_DEATH', { request: 7, timeoutMs: Infinity })
    const wrong = queue.next('VM_DEATH', {
      where: () => {
        throw new Error('not mine')
      },
    })
    queue.push(death(1), 10)
    await expect(wrong).rejects.toThrow('not mine')
    expect(queue.held).toBe(1)
    queue.end(new JdwpLost('over'))
    await expect(lost).rejects.toThrow(JdwpLost)
  })

  it('it is an error if too many events arrive and none of them is consumed', () => {
    const many = new EventQueue()
    for (let i = 0; i < MAX_HELD; i++) many.push(death(i), 10)
    expect(() => many.push(death(0), 10)).toThrow(EventsNotTaken)
    const large = new EventQueue()
    large.push(death(0), MAX_HELD_BYTES)
    expect(() => large.push(death(0), 1)).toThrow(EventsNotTaken)
  })
})
