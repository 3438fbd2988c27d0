// A session in a proxy whose client sends an impossible request.

import { expect, it, onTestFinished, vi } from 'vitest'
import type { Jvm } from '../../src/attach/jvms.ts'
import { HostedSession } from '../../src/commands/hosted-session.ts'

const { pickJvm } = vi.hoisted(() => ({ pickJvm: vi.fn(async () => ({ pid: 1 })) }))
vi.mock('../../src/tui/jvm-picker.tsx', () => ({ pickJvm }))
vi.mock('../../src/commands/containers/named.ts', () => ({ insideContainer: async () => () => true }))
vi.mock('../../src/attach/jvms.ts', () => ({
  listJvms: () => [1, 2].map((pid) => ({ pid, mainClass: 'com.shop.Server', attachable: true }) as Jvm),
}))

it.each([null, {}, { flags: null }, { flags: { root: ['a.B.c'] } }])(
  'a hosted session that failed to start with %j can be closed',
  async (args) => {
    const session = new HostedSession()
    await expect(session.operations.start!(args)).rejects.toThrow()
    await session.close()
  },
)

it.each([
  ['', 'the address has no process id and no main class'],
  ['Shopp', "'Shopp' matches no JVM on that machine"],
])('a client that asks for %j gets a list of the running JVMs', async (target, message) => {
  const asked = new HostedSession().operations.find!({ target })
  await expect(asked).rejects.toMatchObject({
    message,
    hint: 'Give one of the JVMs on that machine: 1 (com.shop.Server), 2 (com.shop.Server)',
  })
})

/** Simulates a user who has started the proxy on a terminal. */
function onTerminal(): void {
  for (const stream of [process.stdin, process.stdout]) {
    const had = Object.getOwnPropertyDescriptor(stream, 'isTTY')
    Object.defineProperty(stream, 'isTTY', { configurable: true, value: true })
    onTestFinished(() => {
      if (had === undefined) Reflect.deleteProperty(stream, 'isTTY')
      else Object.defineProperty(stream, 'isTTY', had)
    })
  }
}

it('if a container has several JVMs, the proxy chooses no JVM and does not ask at its own terminal', async () => {
  onTerminal()
  const session = new HostedSession()
  await expect(session.operations.find!({ target: 'container:shop' })).rejects.toThrow(
    "'container:shop' matches 2 JVMs",
  )
  expect(pickJvm).not.toHaveBeenCalled()
})
