// How long the Common-Cleaner thread is suspended: the requests to the JVM and the waiting between them.

import { expect, it } from 'vitest'
import type { JdwpTarget } from '../../../src/jdwp-client/index.ts'
import { type Cleaner, wakeIfWaiting } from '../../../src/session/doors/debugger-cleaner.ts'

const REMOVE = 11n
const RUN = 12n
const frame = (method: bigint, bci: number) => ({
  id: 0n,
  location: { kind: 'CLASS', type: 1n, method, bci },
})
const WAITS = [frame(1n, -1), frame(2n, 30), frame(REMOVE, 20), frame(RUN, 90)]
const CLEANS = [frame(1n, -1), frame(5n, 3), frame(RUN, 99)]
/** The thread holds the lock of its queue: it is about to wait, or has just been woken. */
const LOOKS = [frame(REMOVE, 20), frame(RUN, 90)]

/** Returns a JVM that answers when the test permits it, with the given stacks in order. */
function jvmWith(...stacks: object[][]) {
  const asked: string[] = []
  let answers: (() => void)[] = []
  const command = (name: string, value?: () => unknown) => () => {
    asked.push(name)
    return new Promise((resolve) => answers.push(() => resolve({ ok: true, value: value?.() })))
  }
  const threadReference = {
    suspend: command('suspend'),
    frames: command('frames', () => stacks.shift()),
    resume: command('resume'),
    interrupt: command('interrupt'),
  }
  /** Answers the pending requests. @returns the requests received by then */
  const turn = async (): Promise<string> => {
    for (const answer of answers.splice(0)) answer()
    await new Promise((resolve) => setImmediate(resolve))
    return asked.splice(0).join(' ')
  }
  answers = []
  const cleaner = { thread: 7n, place: [], waiting: [REMOVE, RUN] } as unknown as Cleaner
  return { woken: wakeIfWaiting({ threadReference } as unknown as JdwpTarget, cleaner), turn }
}

it.each([
  ['cleans up', CLEANS],
  ['holds the lock of its queue', LOOKS],
])('a Common-Cleaner thread that %s is resumed at once', async (_, stack) => {
  const { woken, turn } = jvmWith(stack)
  expect(await turn()).toBe('suspend frames resume')
  expect(await woken).toBe(false)
  expect(await turn()).toBe('')
})

it('a waiting Common-Cleaner thread is suspended for one round trip at a time and interrupted before it resumes', async () => {
  const { woken, turn } = jvmWith(WAITS, WAITS)
  expect(await turn()).toBe('suspend frames resume suspend frames')
  expect(await turn()).toBe('interrupt resume')
  await turn()
  expect(await woken).toBe(true)
})

it('a Common-Cleaner thread that waits at the first check and cleans at the second check is resumed', async () => {
  const { woken, turn } = jvmWith(WAITS, CLEANS)
  await turn()
  expect(await turn()).toBe('resume')
  await turn()
  expect(await woken).toBe(false)
})
