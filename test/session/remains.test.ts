// The report of files and threads that remain after a session, from facts of Linux.

import { describe, expect, it } from 'vitest'
import { leftOf, type Remains } from '../../src/session/remains.ts'

const OWN = 'jfluid-1-10-aaaaaa'
const OTHER = 'jfluid-1-11-bbbbbb'

function remains(...traces: Remains['traces']): Remains {
  const threads = traces.flatMap(({ of }) => (typeof of === 'number' ? [of] : []))
  const sessions = traces.flatMap(({ of }) => (typeof of === 'string' ? [of] : []))
  return { traces, threads, sessions, counterFiles: 0, unseen: [] }
}

const thread = (id: number) => ({ what: 'thread jfluid-agent', of: id })
const ring = (session: string) => ({ what: `mapping /dev/shm/${session}/ring`, of: session })
const file = { what: 'file /tmp/.jfluid_pid1', of: null }

describe('the report of remains after a session', () => {
  it('the report of remains after a session lists a thread, a mapping and a file that the session leaves behind', () => {
    const before = remains(thread(5))
    const after = remains(thread(5), ring(OWN), file)
    expect(leftOf([before], `/dev/shm/${OWN}`, after)).toEqual(after.traces.map((it) => it.what))
  })

  it('the report of remains after a session lists remains of an earlier session', () => {
    const before = remains(thread(5), ring(OTHER))
    expect(leftOf([before], `/dev/shm/${OWN}`, remains(ring(OTHER)))).toEqual([ring(OTHER).what])
  })

  it('the report of remains after a session lists a thread that was started by the session', () => {
    const during = [remains(thread(5)), remains(thread(5), thread(6))]
    expect(leftOf(during, `/dev/shm/${OWN}`, remains(thread(6), thread(7)))).toEqual([thread(6).what])
    expect(leftOf(during.slice(0, 1), `/dev/shm/${OWN}`, remains(thread(6)))).toEqual([])
  })

  it('the report of remains after a session omits remains that another client has created later', () => {
    const before = remains(thread(5), ring(OWN))
    expect(leftOf([before], `/dev/shm/${OWN}`, remains(thread(6), ring(OTHER)))).toEqual([])
  })

  it('the report of remains after a session lists all remains if the earlier state is unknown', () => {
    expect(leftOf([null], `/dev/shm/${OWN}`, remains(thread(6), thread(7)))).toEqual([thread(6).what])
  })
})
