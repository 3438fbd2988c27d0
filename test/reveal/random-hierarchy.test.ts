// Random class hierarchies against a naive model that works on the generator's own description,
// never on bytes. A failure prints the seed; RANDOM_SEED repeats it.

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
}

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

/** Declarations of the method in superinterfaces that no other of them overrides. */
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
    types.push(type)
  }
  const randomCall = (): Call | null => {
    const on = types[random(types.length)]
    const known = METHODS.filter((it) => [...ancestors(on)].some((above) => above.methods.has(it)))
    return known.length === 0 ? null : { on, method: known[random(known.length)] }
  }
  const some = (n: number) => Array.from({ length: n }, randomCall).filter((it) => it !== null)
  for (const type of types) for (const calls of type.methods.values()) calls?.push(...some(random(3)))
  return { types, main: some(2) }
}

function source({ types, main }: { types: Type[]; main: Call[] }): string {
  const body = (calls: readonly Call[]) =>
    `{ ${calls.map((it) => `((${it.on.name}) null).${it.method}();`).join(' ')} }`
  const lines = types.map((it) => {
    const above = it.interfaces.map((i) => i.name).join(', ')
    const methods = [...it.methods].map(([name, calls]) => {
      if (calls === null) return `public abstract void ${name}();`
      return `public ${it.isInterface ? 'default ' : ''}void ${name}() ${body(calls)}`
    })
    const head = it.isInterface
      ? `interface ${it.name}${above && ` extends ${above}`}`
      : `abstract class ${it.name}${it.superclass ? ` extends ${it.superclass.name}` : ''}${above && ` implements ${above}`}`
    return `${head} { ${methods.join(' ')} }`
  })
  return `${lines.join('\n')}\nclass Main { static void run() ${body(main)} }`
}

/** Class hierarchy analysis as one would write it on a blackboard. */
function reachable({ types, main }: { types: Type[]; main: Call[] }): string[] {
  const found = new Set<string>(['Main.run'])
  const work = [...main]
  const seen = new Set<string>()
  for (const call of work) {
    if (seen.has(`${call.on.name}.${call.method}`)) continue
    seen.add(`${call.on.name}.${call.method}`)
    for (const type of types.filter((it) => ancestors(it).has(call.on))) {
      const owner =
        inClasses(type, call.method) ??
        mostSpecific(type, call.method).find((it) => it.methods.get(call.method)) ??
        null
      const calls = owner?.methods.get(call.method)
      if (!owner || !calls) continue
      found.add(`${owner.name}.${call.method}`)
      work.push(...calls)
    }
  }
  return [...found].sort()
}

const ROUNDS = 25
const worlds = Array.from({ length: ROUNDS }, (_, i) => {
  const world = generate(randomFrom(seed + i))
  return { seed: seed + i, world, program: program(`random${i}`, source(world)) }
})
compilePrograms()

describe(`random hierarchies, RANDOM_SEED=${seed}`, () => {
  it.each(worlds)(
    'seed $seed: A takes what the model reaches, B the same when all is entered',
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
    'seed $seed: classes loaded later add up to at least that, each method once',
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
})
