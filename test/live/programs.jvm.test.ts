// A real program: a service that is attached to while it serves. The compiler is `javac.jvm.test.ts`.

import { describe, expect, it } from 'vitest'
import { compileShop } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { callsByMethod, startRecording } from '../support/jfluid.ts'

/** Methods that the shop's self-check counts itself. */
const SHOP_METHODS = 44

describe.each(newestOrAll)('JDK $version', (jdk) => {
  it.each(['a', 'b'])(
    'scheme %s: the shop, which serves, and its self-check agree on every method',
    async (scheme) => {
      const shop = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main', '--rate', '100'])
      const port = / on port (\d+), pid/.exec(await shop.line(/^shop ready/))?.[1]
      const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).json()
      const recording = startRecording(shop.pid, '--root', 'shop.SelfCheck.run', '--scheme', scheme)
      await recording.started
      const own = (await get('/selfcheck?n=50')) as Record<string, number>
      const profile = await recording.stop()

      expect(Object.keys(own)).toHaveLength(SHOP_METHODS)
      expect([profile.warnings, profile.instrumentation.gaps]).toEqual([[], 0])
      const counted = callsByMethod(profile)
      expect(Object.fromEntries(Object.keys(own).map((name) => [name, counted.get(name)]))).toEqual(own)
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      // It serves on as if nobody had been there, and answers the same.
      expect(await get('/selfcheck?n=50')).toEqual(own)
    },
  )

  it('the shop under its own load: every request is in the tree, in the threads that served it', async () => {
    const shop = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main', '--rate', '200'])
    const port = / on port (\d+), pid/.exec(await shop.line(/^shop ready/))?.[1]
    const requests = async () =>
      ((await (await fetch(`http://127.0.0.1:${port}/stats`)).json()) as { requests: number }).requests
    const recording = startRecording(shop.pid, '--root', 'shop.OrderService.process')
    await recording.started
    const from = await requests()
    while ((await requests()) < from + 60) await new Promise((resolve) => setTimeout(resolve, 20))
    const profile = await recording.stop()
    expect(profile.merged.map((it) => `${it.class}.${it.method}`)).toEqual(['shop.OrderService.process'])
    expect(profile.merged[0].calls).toBeGreaterThan(0)
    const perThread = profile.threads.flatMap((it) => it.roots).reduce((sum, it) => sum + it.calls, 0)
    expect(perThread).toBe(profile.merged[0].calls)
    expect(profile.truncated).toBe(false)
  })
})
