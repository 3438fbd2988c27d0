// Further tests of roots: two roots, of which one is never called, and callbacks through the JDK.

import { describe, expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { callsByPath, calmWarnings, lines } from '../support/jfluid.ts'
import { EARLY, LATE, NAMES, watched, withJdk } from './roots-programs.ts'

forEachJdk((jdk) => {
  it('an uncalled root is reported while another root is called', async () => {
    const names = await compileJava(jdk, { 'fix/Names.java': NAMES })
    const java = startJava(jdk, ['-cp', names, 'fix.Names'])
    await java.line(/ready/)
    const { recording, reported } = await watched(java, 'Inner.deep', 'Names.never')
    java.send('run')
    await java.line(/done/)
    const said = await reported(
      /^root Names\.never has not been called yet; possible roots, if other methods call them: fix\.Names\.over$/,
    )
    expect(said).toBeGreaterThan(EARLY)
    expect(said).toBeLessThan(LATE)
    const profile = await recording.stop()
    expect(recording.process.stderr()).not.toMatch(/deep has not been called|not suitable as a root/)
    expect(calmWarnings(profile.warnings)).toEqual(['root Names.never was not called'])
    expect(profile.merged.map((it) => it.method)).toEqual(['deep'])
  })

  // The tree contains JDK methods below the program's methods. It must not contain methods that the probes themselves need. Scheme a
  // instruments the whole JDK at once, which takes 30 s.
  describe.each(['a', 'b'])('profiling with --jdk and scheme %s', (scheme) => {
    it('calls are counted per thread, and exceptions that pass through JDK frames keep the tree consistent', async () => {
      const { own, profile, expected } = await withJdk(jdk, scheme, [
        ['KnownTree 4 10', 'KnownTree.task'],
        ['Throws 20', 'Throws.root'],
      ])
      const of = (name: string) => (it: [string, number]) => it[0].startsWith(`fix.${name}`)
      const only = (name: string, counts: Iterable<[string, number]>) => new Map([...counts].filter(of(name)))
      const byMethod = new Map<string, number>()
      for (const [path, count] of expected) {
        const method = path.slice(path.lastIndexOf(';fix.') + 1)
        byMethod.set(method, (byMethod.get(method) ?? 0) + count)
      }
      // A first call waits for the client for at most 250 ms. A call that continues without an answer is a gap: the calls that it makes are
      // recorded below its caller.
      let missing = 0
      for (const [method, count] of byMethod) missing += Math.max(0, count - (own.get(method) ?? 0))
      expect(missing, 'calls without a gap').toBeLessThanOrEqual(profile.instrumentation.gaps)
      if (missing > 0) return
      // All paths must be present, and the tree may contain further paths with JDK frames.
      const tree = lines(only('KnownTree', expected))
      expect(lines(callsByPath(profile.merged)), 'KnownTree').toEqual(expect.arrayContaining(tree))
      expect(lines(only('Throws', own)), 'Throws').toEqual(lines(only('Throws', byMethod)))
      // An exception from super() ends a constructor at a point where no handler is allowed: 20 / 4 constructors.
      expect(profile.instrumentation.healed).toBeLessThanOrEqual(5)
    })

    it('a program with callbacks keeps its result and counts, and JDK methods are in the tree', async () => {
      const { own, calls, profile, expected } = await withJdk(jdk, scheme, [['Callbacks', 'Callbacks.root']])
      expect(calls.get('java.util.ArrayList.forEach(Ljava/util/function/Consumer;)V') ?? 0).toBe(0)
      expect([...calls.keys()].some((it) => it.startsWith('java.util.HashMap.'))).toBe(true)
      expect(profile.truncated).toBe(false)
      // There are hundreds of first calls through the JDK. If one waits too long, there is a gap, and calls may be missing. No additional
      // calls may be counted.
      if (profile.instrumentation.gaps === 0) expect(lines(own)).toEqual(lines(expected))
      for (const [method, calls] of own) expect(calls, method).toBeLessThanOrEqual(expected.get(method) ?? 0)
    })
  })
})
