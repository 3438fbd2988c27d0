// A target thread that waits for a client whose heart stands still: what it sees of the thread that should make
// it beat decides. No client is in the way: the test signs the buffer with a process of its own making.

import { expect, it } from 'vitest'
import { forEachJdk } from '../support/jdks.ts'
import { asleep, busy, open } from './silent-client-target.ts'

forEachJdk((jdk) => {
  it('a client that sleeps is given up after 250 ms, and the target goes on', async () => {
    const silence = await open(jdk, asleep())
    const ms = await silence.call()
    expect(await silence.ended).toBe('the client did not answer for 250 ms')
    expect(ms).toBeGreaterThan(240)
  })

  it('one that wants a processor is not, until it has got none for 2 s', { timeout: 60_000 }, async () => {
    const silence = await open(jdk, busy())
    let waited = 0
    for (let calls = 0; !silence.over && calls < 10; calls++) {
      waited += await silence.call()
      await silence.agent.status().catch(() => {}) // what the agent had to say before is here
    }
    expect(await silence.ended).toBe('the client got no processor for 2 s')
    expect(waited).toBeGreaterThan(1900)
  })

  it('another process with its number is no client', async () => {
    const silence = await open(jdk, busy(), 1)
    await silence.call()
    expect(await silence.ended).toBe('the client did not answer for 250 ms')
  })
})
