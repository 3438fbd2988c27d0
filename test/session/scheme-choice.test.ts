import { describe, expect, it } from 'vitest'
import { parseRoot } from '../../src/reveal/patterns.ts'
import { type Behind, chooseScheme, whyNotB } from '../../src/session/scheme-choice.ts'
import { needsAllCalls, type SessionRequest } from '../../src/session/session-options.ts'

const request = (more: Partial<SessionRequest> = {}): SessionRequest => ({
  ...{ scheme: 'auto', roots: [parseRoot('Foo.bar')], include: [], exclude: [], jdk: false, ...more },
})

/** Returns a JVM that fails the test if it receives a request. */
const untouched = (loadedClasses: number) => ({ loadedClasses }) as Behind

const small = {
  ...{ isTooMuch: false, methods: 40, classes: 5, classBytes: 20_000, pauseMs: 12 },
  metaspaceLeft: Number.POSITIVE_INFINITY,
}

describe('scheme b is harmless', () => {
  it('scheme b is harmless if few methods are reachable', () => {
    expect(whyNotB(small)).toBeNull()
  })

  it('scheme b is harmless if the pause of a redefinition is unknown', () => {
    expect(whyNotB({ ...small, pauseMs: null })).toBeNull()
  })

  it.each([
    [{ isTooMuch: true }, 'scheme b may instrument more than 2,000 methods'],
    [{ classBytes: 3 << 20 }, 'scheme b would need about 12 MiB of metaspace'],
    [{ pauseMs: 180.4 }, 'scheme b would stop the JVM for about 180 ms'],
    [
      { classBytes: 1 << 20, metaspaceLeft: 18 << 20 },
      'scheme b would need about 4 MiB of metaspace, and 18 MiB are left',
    ],
  ])('scheme b is not harmless for a program with %j', (more, why) => {
    expect(whyNotB({ ...small, ...more })).toBe(why)
  })
})

describe('the chosen scheme', () => {
  it('the chosen scheme is adaptive if many classes are loaded, and the loaded classes are then not listed', async () => {
    expect(await chooseScheme(request(), untouched(16_412))).toEqual({
      scheme: 'adaptive',
      why: 'scheme adaptive: 16,412 classes are loaded (--scheme b overrides this)',
      listed: null,
    })
  })

  it.each(['a', 'b', 'adaptive'] as const)('the chosen scheme is %s if it is requested', async (scheme) => {
    expect(await chooseScheme(request({ scheme }), untouched(16_412))).toMatchObject({ scheme, why: null })
  })

  it('the chosen scheme is b if an option needs all calls', async () => {
    expect(await chooseScheme(request({ callSites: true }), untouched(16_412))).toMatchObject({ scheme: 'b' })
  })

  it.each([
    ['--time names methods', { timed: [parseRoot('Foo.baz')] }],
    ['--max-overhead is set', { maxOverhead: 0.02 }],
  ])('the chosen scheme is adaptive if %s, even for a small program', async (_, more) => {
    expect(await chooseScheme(request(more), untouched(300))).toEqual({
      ...{ scheme: 'adaptive', why: null, listed: null },
    })
  })
})

describe('options that need all calls', () => {
  it.each([
    [{ mode: 'alloc' }, '--mode alloc'],
    [{ callSites: true }, '--call-sites'],
    [{ trace: 3 }, '--trace'],
    [{ followThreads: true }, '--follow-threads'],
  ] as const)('a recording with %j needs all calls', (more, option) => {
    expect(needsAllCalls(request(more))).toBe(option)
  })

  it('the default mode and --jdk do not need all calls', () => {
    expect(needsAllCalls(request({ mode: 'exact', jdk: true }))).toBeNull()
  })
})
