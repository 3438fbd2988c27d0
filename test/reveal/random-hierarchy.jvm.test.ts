// Random class hierarchies, compared with a simple model that uses the generator's description
// and no class files: with all types included, and with random types excluded. A failure prints the
// seed; RANDOM_SEED repeats it.

import { describe, expect, it } from 'vitest'
import { compilePrograms, program, Target } from './world.ts'

interface Type {
  readonly name: string
  readonly isInterface: boolean
  readonly superclass: Type | null
  readonly interfaces: Type[]
  /** Method name to its calls; null is abstract. */
  readonly methods: Map<string, Call[] | null>
}

interface Call {
  readonly on: Type
  readonly method: string
  /** Kind of call: `dispatched` on the receiver, `static`, or `handed` on as a method reference. */
  readonly kind: 'dispatched' | 'static' | 'handed'
}

/** A static method of every type. */
const STATIC = 's'
const METHODS = ['m0', 'm1', 'm2']
const seed = Number(process.env.RANDOM_SEED ?? Math.floor(Math.random() * 1e9))

function randomFrom(start: number): (below: number) => number {
  let state = start >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function ancestors(type: Type): Set<Type> {
  const found = new Set<Type>([type])
  for (const it of found) for (const above of [it.superclass, ...it.interfaces]) if (above) found.add(above)
  return found
}

/** Returns declarations of the method in superinterfaces that no other superinterface overrides. */
function mostSpecific(type: Type, method: string): Type[] {
  const all = [...ancestors(type)].filter((it) => it.isInterface && it.methods.has(method))
  return all.filter((it) => !all.some((other) => other !== it && ancestors(other).has(it)))
}

function inClasses(type: Type, method: string): Type | null {
  for (let it: Type | null = type.isInterface ? null : type; it; it = it.superclass)
    if (it.methods.has(method)) return it
  return null
}

function generate(random: (below: number) => number): { types: Type[]; main: Call[] } {
  const types: Type[] = []
  for (let i = 0; i < 14; i++) {
    const isInterface = random(3) === 0
    const classes = types.filter((it) => !it.isInterface)
    const interfaces = types.filter((it) => it.isInterface)
    const superclass =
      !isInterface && classes.length > 0 && random(3) > 0 ? classes[random(classes.length)] : null
    const picked = new Set<Type>()
    for (let n = random(3); n > 0 && interfaces.length > 0; n--)
      picked.add(interfaces[random(interfaces.length)])
    const type: Type = { name: `T${i}`, isInterface, superclass, interfaces: [...picked], methods: new Map() }
    for (const method of METHODS) {
      const conflict = inClasses(type, method) === null && mostSpecific(type, method).length > 1
      if (conflict || random(3) === 0) type.methods.set(method, !conflict && random(4) === 0 ? null : [])
    }
    type.methods.set(STATIC, [])
    types.push(type)
  }
  const randomCall = (): Call | null => {
    const on = types[random(types.length)]
    if (random(4) === 0) return { on, method: STATIC, kind: 'static' }
    const known = METHODS.filter((it) => [...ancestors(on)].some((above) => above.methods.has(it)))
    if (known.length === 0) return null
    const method = known[random(known.length)]
    // In a method reference, javac before 18 names the type that declares the method (JDK-8059632).
    return { on, method, kind: on.methods.has(method) && random(3) === 0 ? 'handed' : 'dispatched' }
  }
  const some = (n: number) => Array.from({ length: n }, randomCall).filter((it) => it !== null)
  for (const type of types) for (const calls of type.methods.values()) calls?.push(...some(random(3)))
  return { types, main: some(2) }
}

function statement({ on, method, kind }: Call): string {
  if (kind === 'static') return `${on.name}.${method}();`
  const receiver = `((${on.name}) null)`
  return kind === 'handed' ? `Main.keep(${receiver}::${method});` : `${receiver}.${method}();`
}

function source({ types, main }: { types: Type[]; main: Call[] }): string {
  const body = (calls: readonly Call[]) => `{ ${calls.map(statement).join(' ')} }`
  const lines = types.map((it) => {
    const above = it.interfaces.map((i) => i.name).join(', ')
    const methods = [...it.methods].map(([name, calls]) => {
      if (name === STATIC) return `public static void ${STATIC}() ${body(calls ?? [])}`
      if (calls === null) return `public abstract void ${name}();`
      return `public ${it.isInterface ? 'default ' : ''}void ${name}() ${body(calls)}`
    })
    const head = it.isInterface
      ? `interface ${it.name}${above && ` extends ${above}`}`
      : `abstract class ${it.name}${it.superclass ? ` extends ${it.superclass.name}` : ''}${above && ` implements ${above}`}`
    return `${head} { ${methods.join(' ')} }`
  })
  return `${lines.join('\n')}
interface Fn { void go(); }
class Main { static void run() ${body(main)} static void keep(Fn f) { } }`
}

type World = { types: Type[]; main: Call[] }

/**
 * Class hierarchy analysis in its simplest form: returns the targets of the calls `first`. The calls of a target are followed if the
 * target's type is in `through`.
 */
function runs({ types }: World, first: readonly Call[], through: (type: Type) => boolean): Set<string> {
  const found = new Set<string>()
  const work = [...first]
  const seen = new Set<string>()
  for (const call of work) {
    if (call.kind === 'handed') found.add('Main.keep')
    const key = `${call.on.name}.${call.method}`
    if (seen.has(key)) continue
    seen.add(key)
    const receivers = call.kind === 'static' ? [call.on] : types.filter((it) => ancestors(it).has(call.on))
    for (const type of receivers) {
      const owner =
        (call.kind === 'static' ? type : inClasses(type, call.method)) ??
        mostSpecific(type, call.method).find((it) => it.methods.get(call.method)) ??
        null
      const calls = owner?.methods.get(call.method)
      if (!owner || !calls) continue
      found.add(`${owner.name}.${call.method}`)
      if (through(owner)) work.push(...calls)
    }
  }
  return found
}

function reachable(world: World): string[] {
  return ['Main.run', ...runs(world, world.main, () => true)].sort()
}

/** Removes methods of excluded types. */
function kept(methods: Iterable<string>, out: ReadonlySet<string>): string[] {
  return [...methods].filter((it) => !out.has(it.split('.')[0])).sort()
}

/** Calls in the body of `T3.m1`. */
function callsOf({ types, main }: World, method: string): readonly Call[] {
  const [owner, name] = method.split('.')
  if (owner === 'Main') return name === 'run' ? main : []
  return types.find((it) => it.name === owner)?.methods.get(name) ?? []
}

function someOut(world: World, random: (below: number) => number): ReadonlySet<string> {
  return new Set(world.types.map((it) => it.name).filter(() => random(2) === 0))
}

/** Returns options that exclude the types in `out`: --exclude, or --include of the other types. */
function leaving(
  out: ReadonlySet<string>,
  world: World,
  random: (below: number) => number,
): { include?: string; exclude?: string } {
  if (random(2) === 0) return { exclude: [...out].join(' ') }
  const others = world.types.map((it) => it.name).filter((it) => !out.has(it))
  return { include: ['Main', ...others].join(' ') }
}

const ROUNDS = 25
const worlds = Array.from({ length: ROUNDS }, (_, i) => {
  const world = generate(randomFrom(seed + i))
  return { seed: seed + i, world, program: program(`random${i}`, source(world)) }
})
compilePrograms()

describe(`random hierarchies, RANDOM_SEED=${seed}`, () => {
  it.each(worlds)(
    'seed $seed: scheme a instruments the methods that the model reaches; scheme b instruments the same methods after all methods were entered',
    async ({ world, program }) => {
      const expected = reachable(world)
      const a = new Target({ program, scheme: 'a' })
      await a.start()
      expect(a.taken.sort()).toEqual(expected)
      for (const lookAhead of [0, 5]) {
        const b = new Target({ program, lookAhead })
        await b.start()
        await b.invokeAll()
        expect(b.taken.sort()).toEqual(expected)
      }
    },
  )

  it.each(worlds)(
    'seed $seed: if classes are loaded later, at least the methods that the model reaches are instrumented, and each method only once',
    async ({ seed, world, program }) => {
      const expected = reachable(world)
      const random = randomFrom(seed)
      const names = world.types.map((it) => it.name)
      for (const scheme of ['a', 'b'] as const) {
        const target = new Target({ program, scheme, late: names.join(' ') })
        await target.start()
        const order = [...names].sort(() => random(3) - 1)
        for (const name of order) {
          if (scheme === 'b' && random(2) === 0) await target.invokeAll()
          await target.load(name)
        }
        await target.invokeAll()
        expect(new Set(target.taken).size).toBe(target.taken.length)
        expect(expected.filter((it) => !target.taken.includes(it))).toEqual([])
      }
    },
  )

  it.each(worlds)(
    'seed $seed: calls through excluded types are found, whichever types are excluded',
    async ({ seed, world, program }) => {
      const random = randomFrom(seed * 7)
      const out = someOut(world, random)
      const filters = leaving(out, world, random)
      const expected = kept(reachable(world), out)
      const a = new Target({ program, scheme: 'a', ...filters })
      await a.start()
      expect(a.taken.sort()).toEqual(expected)
      for (const lookAhead of [0, 5]) {
        const b = new Target({ program, lookAhead, ...filters })
        await b.start()
        await b.invokeAll()
        expect(b.taken.sort()).toEqual(expected)
        expect(b.skipped).toEqual([])
      }
    },
  )

  it.each(worlds)(
    'seed $seed: when a method is entered, scheme b instruments exactly the methods callable from this method through excluded types',
    async ({ seed, world, program }) => {
      const random = randomFrom(seed * 11)
      const out = someOut(world, random)
      for (const lookAhead of [0, 5]) {
        const target = new Target({ program, lookAhead, ...leaving(out, world, random) })
        await target.start()
        const open = ['Main.run']
        for (const method of open) {
          const before = [...target.taken]
          const owed = kept(
            runs(world, callsOf(world, method), (it) => out.has(it.name)),
            out,
          )
          if (target.isReady(method)) expect(owed.filter((it) => !before.includes(it))).toEqual([])
          else await target.invoke(method)
          const taken = target.taken.slice(before.length)
          if (lookAhead === 0) expect(taken).toEqual(owed.filter((it) => !before.includes(it)))
          else expect(owed.filter((it) => !target.taken.includes(it))).toEqual([])
          open.push(...taken)
        }
      }
    },
  )

  it.each(worlds)(
    'seed $seed: calls through excluded types are found even if the excluded types are loaded later, before or after the called types',
    async ({ seed, world, program }) => {
      const random = randomFrom(seed * 13)
      const out = someOut(world, random)
      const expected = kept(reachable(world), out)
      const names = world.types.map((it) => it.name)
      for (const scheme of ['a', 'b'] as const) {
        const late = names.join(' ')
        const target = new Target({ program, scheme, late, ...leaving(out, world, random) })
        await target.start()
        for (const name of [...names].sort(() => random(3) - 1)) {
          if (scheme === 'b' && random(2) === 0) await target.invokeAll()
          await target.load(name)
        }
        await target.invokeAll()
        expect(new Set(target.taken).size).toBe(target.taken.length)
        expect(kept(target.taken, out)).toHaveLength(target.taken.length)
        expect(expected.filter((it) => !target.taken.includes(it))).toEqual([])
      }
    },
  )
})
