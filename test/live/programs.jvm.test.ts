// A real program: a service is profiled while it serves requests. The compiler is in `javac.full.jvm.test.ts`.

import { beforeAll, describe, expect, it } from 'vitest'
import { byMethod } from '../fixtures/expectation.ts'
import { compileShop } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { callsByPath, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { until } from './remains.ts'

/** Number of methods whose calls the shop's self-check counts itself. */
const SHOP_METHODS = 44

describe.each(newestOrAll)('counted calls of larger programs on JDK $version', (jdk) => {
  let shop: JavaProcess
  let get: (path: string) => Promise<Record<string, number>>
  beforeAll(async () => {
    shop = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main', '--rate', '200'])
    const port = / on port (\d+), pid/.exec(await shop.line(/^shop ready/))?.[1]
    get = async (path) =>
      (await (await fetch(`http://127.0.0.1:${port}${path}`)).json()) as Record<string, number>
    // Loads all classes of the shop. Roots in classes that are not loaded yet are tested in roots.jvm.test.ts.
    await get('/selfcheck?n=1')
  })

  const SELF_CHECK = 'shop.SelfCheck'
  const SERVED = 'shop.OrderService'
  const runs = [
    ['a', 'its self-check', [`${SELF_CHECK}.run`]],
    ['b', 'its self-check while it also serves requests', [`${SELF_CHECK}.run`, `${SERVED}.process`]],
  ] as const
  it.each(FULL ? runs : runs.slice(1))(
    'scheme %s: counts of the shop service agree with %s',
    async (scheme, _, roots) => {
      const recording = startRecording(shop.pid, ...roots.flatMap((it) => ['--root', it]), '--scheme', scheme)
      await recording.started
      const { requests } = await get('/stats')
      const own = await get('/selfcheck?n=50')
      if (roots.length > 1) await until(async () => (await get('/stats')).requests! > requests! + 60)
      const profile = await recording.stop()

      expect(Object.keys(own)).toHaveLength(SHOP_METHODS)
      expect([profile.warnings, profile.truncated]).toEqual([[], false])
      expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
      const of = (type: string) => profile.merged.filter((it) => it.class === type)
      const counted = byMethod(callsByPath(of(SELF_CHECK)))
      expect(Object.fromEntries(Object.keys(own).map((name) => [name, counted.get(name)]))).toEqual(own)
      // The service continues to give the same answers.
      expect(await get('/selfcheck?n=50')).toEqual(own)

      expect(profile.merged.map((it) => `${it.class}.${it.method}`).toSorted()).toEqual(roots.toSorted())
      if (roots.length === 1) return
      // The tree contains every request, in the threads that served the requests.
      const [served] = of(SERVED)
      expect(served!.calls).toBeGreaterThan(0)
      const perThread = profile.threads.flatMap((it) => it.roots).filter((it) => it.class === SERVED)
      expect(perThread.reduce((sum, it) => sum + it.calls, 0)).toBe(served!.calls)
    },
  )
})
