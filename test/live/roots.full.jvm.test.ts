// More roots: one that is not called beside one that is, and callbacks through the JDK.

import { describe, expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { lines } from '../support/jfluid.ts'
import { EARLY, LATE, NAMES, watched, withJdk } from './roots-programs.ts'

forEachJdk((jdk) => {
  it('a root that nobody calls is reported beside one that is called', async () => {
    const names = await compileJava(jdk, { 'fix/Names.java': NAMES })
    const java = startJava(jdk, ['-cp', names, 'fix.Names'])
    await java.line(/ready/)
    const { recording, reported } = await watched(java, 'Inner.deep', 'Names.never')
    java.send('run')
    await java.line(/done/)
    const said = await reported(
      /^root Names\.never has not been called yet; if others call them, its callees would do as roots: fix\.Names\.over$/,
    )
    expect(said).toBeGreaterThan(EARLY)
    expect(said).toBeLessThan(LATE)
    const profile = await recording.stop()
    expect(recording.process.stderr()).not.toMatch(/deep has not been called|no root/)
    expect(profile.warnings).toEqual(['root Names.never was not called'])
    expect(profile.merged.map((it) => it.method)).toEqual(['deep'])
  })

  describe.each(['a', 'b'])('--jdk, scheme %s', { timeout: 60_000 }, (scheme) => {
    it('a program of callbacks keeps its result and its counts; JDK methods appear', async () => {
      const { own, calls, profile, expected } = await withJdk(jdk, scheme, [['Callbacks', 'Callbacks.root']])
      expect(calls.get('java.util.ArrayList.forEach(Ljava/util/function/Consumer;)V') ?? 0).toBe(0)
      expect([...calls.keys()].some((it) => it.startsWith('java.util.HashMap.'))).toBe(true)
      expect(profile.truncated).toBe(false)
      // Hundreds of first calls through the JDK: where one of them waits for too long, that is a gap, and
      // then calls may be missing. None may be there that was not made.
      if (profile.instrumentation.gaps === 0) expect(lines(own)).toEqual(lines(expected))
      for (const [method, calls] of own) expect(calls, method).toBeLessThanOrEqual(expected.get(method) ?? 0)
    })
  })
})
