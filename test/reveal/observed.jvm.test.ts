import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { readBody } from '../../src/reveal/call-sites.ts'
import type { Evidence, Observed, ObservedCall, ObservedCalls, Place } from '../../src/reveal/observed.ts'
import { compilePrograms, program, Target } from './world.ts'

const shop = program(
  'shop',
  `interface Step { void go(); default void twice() { go(); } }
   class Often implements Step { public void go() { Deep.deep(); } }
   class Seldom implements Step { public void go() { Deep.other(); } }
   class Elsewhere implements Step { public void go() { Deep.elsewhere(); } }
   class Below extends Often { }
   class Deep { static void deep() { } static void other() { } static void elsewhere() { } }
   class Main {
     static void run(Step s, java.util.Comparator<String> c) { s.go(); s.twice(); if (c != null) sort(c); }
     static void sort(java.util.Comparator<String> c) { java.util.Collections.sort(new java.util.ArrayList<String>(), c); }
   }`,
)

compilePrograms()

/** What a call has led to: classes of receivers, and `…` if there were others, or it is no call with receivers; `often`. */
type Calls = Readonly<Record<string, Readonly<Record<string, string>>>>

class Profiles implements Evidence {
  readonly asked: string[] = []
  readonly #target: Target
  calls: Calls

  /**
   * @param calls  of methods with a profile, by name: `Main.run` and the names of what it calls
   * @param usual  names of methods
   */
  constructor(
    target: Target,
    calls: Calls,
    private readonly usual: readonly string[],
  ) {
    this.#target = target
    this.calls = calls
  }

  isUsual(place: Place): boolean {
    return this.usual.includes(this.#target.nameOf(place))
  }

  isFrequent(calls: number): boolean {
    return calls >= 10
  }

  learn(): Promise<void> {
    return Promise.resolve()
  }

  table(classId: number): ReadonlyMap<string, { access: number }> | undefined {
    const bytes = this.#target.bytes(this.#target.classOf(classId))
    if (bytes === null) return undefined
    return new Map(parseClassFile(bytes).methods.map((it) => [it.name + it.descriptor, it]))
  }

  profiles(places: readonly Place[]): Promise<(Observed | null)[]> {
    return Promise.resolve(places.map((it) => this.#profile(it)))
  }

  #profile(place: Place): Observed | null {
    const name = this.#target.nameOf(place)
    this.asked.push(name)
    const led = this.calls[name]
    if (led === undefined) return null
    const file = parseClassFile(this.#target.bytes(this.#target.classOf(place.classId))!)
    const method = file.methods.find((it) => it.name + it.descriptor === place.selector)!
    return new Map(
      readBody(file, method).calls.map(({ bci, site }): [number, ObservedCall] => {
        const to = (site.kind === 'exact' || site.kind === 'virtual' ? led[site.name] : '')?.split(' ') ?? []
        const often = to.includes('often') ? 10 : 1
        const receivers = to.filter((it) => !['', '…', 'often'].includes(it))
        return [
          bci,
          {
            receivers: new Map(receivers.map((it) => [this.#target.id(this.#target.full(it)), often])),
            others: to.includes('…') ? often : 0,
          },
        ]
      }),
    )
  }
}

const ALL = ['Main.run', 'Main.sort', 'Often.go', 'Elsewhere.go', 'Step.twice', 'Deep.deep', 'Deep.elsewhere']
const JDK = ['Collections.sort', 'ArrayList.sort']

async function observe(calls: Calls, usual: readonly string[] = [...ALL, ...JDK]) {
  const target = new Target({ program: shop })
  await target.start()
  const profiles = new Profiles(target, calls, usual)
  const observed = await target.revealer.observe(profiles)
  return { target, profiles, observed, found: namesIn(target, observed) }
}

function namesIn(target: Target, observed: ObservedCalls): string {
  const names: string[] = []
  for (const name of [...shop.classes, 'java/util/Collections', 'java/util/ArrayList']) {
    const classId = target.id(name)
    for (const { name: method, descriptor } of parseClassFile(target.bytes(name)!).methods)
      if (observed.has(classId, method + descriptor))
        names.push(target.nameOf({ classId, selector: method + descriptor }))
  }
  return [...new Set(names)].sort().join(' ')
}

describe('what the roots have been seen to lead to', () => {
  it('is what the receivers of their calls run, and no other override', async () => {
    const { found } = await observe({ 'Main.run': { go: 'Often' }, 'Often.go': { deep: '…' } })
    expect(found).toBe('Deep.deep Main.run Often.go')
  })

  it('is inherited, by a subclass and from an interface', async () => {
    const { found } = await observe({
      'Main.run': { go: 'Below', twice: 'Below' },
      'Often.go': {},
      'Step.twice': { go: 'Elsewhere' },
      'Elsewhere.go': {},
    })
    expect(found).toBe('Elsewhere.go Main.run Often.go Step.twice')
  })

  it('is whatever overrides the method and is usual, where there were more receivers than a profile has room for', async () => {
    const { found } = await observe({
      'Main.run': { go: 'Seldom …' },
      'Often.go': {},
      'Elsewhere.go': { elsewhere: '…' },
    })
    expect(found).toBe('Deep.elsewhere Elsewhere.go Main.run Often.go')
  })

  it('is whatever a method without a profile may call', async () => {
    const { found } = await observe({ 'Often.go': {}, 'Elsewhere.go': {} }, [
      'Main.run',
      'Often.go',
      'Main.sort',
    ])
    expect(found).toBe('Main.run Main.sort Often.go')
  })

  it('goes on behind what is not usual if the call was made often, and gives that no probes', async () => {
    const calls = { 'Main.run': { go: 'Seldom often' }, 'Seldom.go': { other: '… often' } }
    const { profiles, observed, target, found } = await observe(calls, ['Main.run', 'Deep.other'])
    expect(found).toBe('Deep.other Main.run')
    expect(observed.hasAnyOf(target.id(target.full('Seldom')))).toBe(false)
    const once = await observe({ ...calls, 'Main.run': { go: 'Seldom' } }, ['Main.run', 'Deep.other'])
    expect(once.found).toBe('Main.run')
    // What was made seldom is looked at again when it has been made often.
    once.profiles.calls = calls
    expect((await once.observed.again()).map((it) => once.target.nameOf(it))).toEqual([
      'Seldom.go',
      'Deep.other',
    ])
    expect(profiles.asked).toContain('Seldom.go')
  })

  it('goes on behind code of the JDK', async () => {
    const { found } = await observe({
      'Main.run': { sort: '…' },
      'Main.sort': { sort: '…' },
      'Collections.sort': { sort: 'java/util/ArrayList' },
      'ArrayList.sort': {},
    })
    expect(found).toBe('ArrayList.sort Collections.sort Main.run Main.sort')
  })

  it('is told again as far as it is new, and a method whose counts have begun anew is asked nothing twice', async () => {
    const { target, profiles, observed } = await observe({ 'Main.run': { go: 'Often' }, 'Often.go': {} })
    const again = async (calls: Calls) => {
      profiles.calls = calls
      return (await observed.again()).map((it) => target.nameOf(it)).join(' ')
    }
    expect(await again({ 'Main.run': { go: 'Often' }, 'Often.go': {} })).toBe('')
    expect(await again({})).toBe('')
    expect(await again({ 'Main.run': { go: 'Elsewhere' }, 'Elsewhere.go': { elsewhere: '…' } })).toBe(
      'Elsewhere.go Deep.elsewhere',
    )
    expect(await again({ 'Often.go': { deep: '…' } })).toBe('Deep.deep')
    expect(namesIn(target, observed)).toBe('Deep.deep Deep.elsewhere Elsewhere.go Main.run Often.go')
  })

  it('is looked for anew in a class that another agent has given other code', async () => {
    const { target, profiles, observed } = await observe({ 'Main.run': { go: 'Often' }, 'Often.go': {} })
    profiles.calls = { 'Often.go': {} } // with its code, the JVM has forgotten what it had seen of it
    expect(await observed.again()).toEqual([])
    observed.redefined(new Set([target.id('shop/Main')]))
    const found = (await observed.again()).map((it) => target.nameOf(it))
    expect(found).toContain('Elsewhere.go') // as of a method that has not been seen to call anything yet
  })

  it('has nothing of classes that have gone', async () => {
    const { target, observed } = await observe({ 'Main.run': { go: 'Often' }, 'Often.go': { deep: '…' } })
    const id = target.id(target.full('Often'))
    expect(observed.hasAnyOf(id)).toBe(true)
    observed.unloaded(new Set([id]))
    expect(observed.hasAnyOf(id)).toBe(false)
    expect(namesIn(target, observed)).toBe('Deep.deep Main.run')
  })
})

describe('a call that is seen later', () => {
  it('gives probes to what had been left alone', async () => {
    const { target, profiles, observed } = await observe({ 'Main.run': { go: 'Often' }, 'Often.go': {} })
    target.leaveAlone((id, selector) => !observed.has(id, selector))
    expect(await target.rootsWillRun(['Main.run', 'Often.go'])).toBe('Often.go')
    expect(target.leftAlone()).toBe('Deep.deep Elsewhere.go Main.sort Seldom.go Step.twice')
    profiles.calls = { 'Main.run': { go: 'Elsewhere' }, 'Elsewhere.go': { elsewhere: '…' } }
    expect(await target.observeAgain()).toBe('Deep.elsewhere Elsewhere.go')
    expect(await target.observeAgain()).toBe('')
  })

  it('is one by reflection too, if its method is usual', async () => {
    const { target, observed } = await observe({ 'Main.run': { go: 'Often' }, 'Often.go': {} })
    target.leaveAlone((id, selector) => !observed.has(id, selector))
    await target.rootsWillRun(['Main.run', 'Often.go'])
    // What it calls has no profile, and is usual.
    expect(await target.reflect('Elsewhere', 'go', '()V')).toBe('Deep.elsewhere Elsewhere.go')
    expect(await target.reflect('Seldom', 'go', '()V')).toBe('')
  })
})
