// A root names a class that two loaders define with different code: the methods of both classes are roots, and their calls are counted apart.

import { beforeAll, describe, expect, it } from 'vitest'
import { compileLate } from '../fixtures/fixtures.ts'
import { ask, type JavaProcess, startJava } from '../support/java-process.ts'
import { forOldestJdk, newestOrAll } from '../support/jdks.ts'
import { type JsonNode, startRecording } from '../support/jfluid.ts'

const GREET = 'fix.late.Greeter.greet'
const RUNS = 3
/** Calls of `greet` in each run, in each class, and calls of the method that it calls (see Late.java). */
const GREETS = 12
const WORDS = { a: 12 + 9 + 2, b: 12 }

forOldestJdk((jdk) => {
  describe(`one class name in two loaders on JDK ${jdk.version}`, () => {
    let java: JavaProcess
    beforeAll(async () => {
      const { classes, a, b } = await compileLate(jdk)
      java = startJava(jdk, ['-Xverify:all', '-cp', classes, 'fix.Late', a, b])
      await java.line(/^ready/)
    })

    // Schemes a and b find the classes in the same way, so scheme a runs on one JDK.
    it.each(['adaptive', ...(newestOrAll.includes(jdk) ? ['a'] : []), 'b'])(
      'with scheme %s, a root counts the calls of both classes apart',
      async (scheme) => {
        await ask(java, 'forget', /^forgotten/)
        await ask(java, 'load a', /^loaded/)
        await ask(java, 'load b', /^loaded/)
        await ask(java, 'run', /^done/) // loads Greeter$Words
        const times =
          scheme === 'adaptive' ? ['Greeter.word', 'Words.word'].flatMap((it) => ['--time', it]) : []
        const recording = startRecording(java.pid, '--root', GREET, '--scheme', scheme, ...times)
        await recording.started
        for (let i = 0; i < RUNS; i++) await ask(java, 'run', /^done/)
        // Further loaders define the class during the session: the root then has four classes. Each replaces the plugin of the same name.
        if (scheme !== 'adaptive')
          for (const which of ['a', 'b']) await ask(java, `service ${which}`, /^done/)
        const profile = await recording.stop()
        const calls = new Map<string, number[]>()
        for (const { loader, class: owner, method, calls: n } of profile.methods) {
          const key = `${owner}.${method} of ${/late-[ab]/.exec(loader)?.[0] ?? loader}`
          calls.set(key, [...(calls.get(key) ?? []), n])
        }
        // In `service a`, the class of the second loader is used together with b of the first one.
        const later = (n: number) => (scheme === 'adaptive' ? [] : n)
        expect(Object.fromEntries([...calls].map(([key, n]) => [key, n.sort((x, y) => y - x)]))).toEqual({
          [`${GREET} of late-a`]: [RUNS * GREETS, later(2 * GREETS)].flat(),
          [`${GREET} of late-b`]: [(RUNS + (scheme === 'adaptive' ? 0 : 1)) * GREETS, later(GREETS)].flat(),
          'fix.late.Greeter.word of late-a': [RUNS * WORDS.a, later(2 * WORDS.a)].flat(),
          'fix.late.Greeter$Words.word of late-b': [
            (RUNS + (scheme === 'adaptive' ? 0 : 1)) * WORDS.b,
            later(WORDS.b),
          ].flat(),
        })
        const isRoot = (node: JsonNode) => `${node.class}.${node.method}` === GREET
        expect(profile.merged.filter(isRoot)).toHaveLength(profile.merged.length)
        expect(profile.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
        expect(profile.detach).toMatchObject({ left: [], refusedClasses: 0 })
        expect(java.stderr()).not.toMatch(/Exception|Error/)
        await ask(java, 'run', /^done/)
      },
    )
  })
})
