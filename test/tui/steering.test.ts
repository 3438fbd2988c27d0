import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { beforeEach, describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import type { ByHandRow, Extent, Steering } from '../../src/tui/steering.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const ORDERS = `com.acme.OrderService.process 120x 9000000ns (
  com.acme.shop.Pricing.priceOf 360x 140000000ns ( com.acme.Cache.get 4x 36000000ns )
  com.acme.Log.debug 4000x 3000ns )`

/** A session that logs its requests and executes them when the test permits it. */
class FakeSteering implements Steering {
  generation = 0
  byHand: ByHandRow[] = []
  told: string[] = []
  out = new Set<number>()
  readonly #methods: Methods
  #finish: ((failure?: Error) => void) | undefined

  constructor(methods: Methods) {
    this.#methods = methods
  }

  textOf(id: number, extent: Extent): string | null {
    const { class: owner, method } = this.#methods.names[id]!
    if (extent === 'method') return `${owner}.${method}(int)`
    const dot = owner.lastIndexOf('.')
    return extent === 'class' ? owner : dot < 0 ? null : `${owner.slice(0, dot)}.*`
  }
  isLeftOut(id: number): boolean {
    return this.out.has(id)
  }
  changeRoot(text: string, onPhase: (phase: string) => void): Promise<string> {
    onPhase('instrumenting')
    return this.#do(`root ${text}`)
  }
  leaveOut(text: string): Promise<string> {
    return this.#do(`out ${text}`)
  }
  add(text: string): Promise<string> {
    return this.#do(`in ${text}`)
  }
  costToTime(text: string): Promise<string> {
    return this.#do(`cost ${text}`)
  }
  time(text: string): Promise<string> {
    return this.#do(`time ${text}`)
  }
  takeBack(text: string): Promise<string> {
    return this.#do(`back ${text}`)
  }
  async finish(failure?: Error): Promise<void> {
    this.#finish!(failure)
    await turnOfTheLoop()
  }
  #do(what: string): Promise<string> {
    this.told.push(what)
    return new Promise((resolve, reject) => {
      this.#finish = (failure) => (failure ? reject(failure) : resolve(`done: ${what}`))
    })
  }
}

let methods: Methods
let source: FakeSource & { steering?: Steering }
let steering: FakeSteering
let screen: FakeScreen
let view: LiveView

async function open(columns = 80, rows = 24, unicode = true): Promise<void> {
  methods = new Methods()
  source = new FakeSource(methods, treeOf(ORDERS, methods))
  steering = new FakeSteering(methods)
  source.steering = steering
  screen = new FakeScreen(columns, rows, unicode)
  view = new LiveView(source, screen)
  await view.refresh()
}

const bottom = (): string => screen.text.split('\n').slice(-2).join('\n')

beforeEach(() => open())

describe('changing the root', () => {
  it('after a request, the root is changed in phases, and the view no longer shows data of the earlier root', async () => {
    screen.press('down r')
    assert.equal(
      bottom(),
      ` make com.acme.shop.Pricing.priceOf(int) the root and reset to zero?
 Enter change the root  Esc cancel`,
    )
    screen.press('escape')
    assert.deepEqual(steering.told, [])
    screen.press('r enter')
    assert.deepEqual(steering.told, ['root com.acme.shop.Pricing.priceOf(int)'])
    assert.match(bottom(), /changing the root: instrumenting \.\.\./)
    screen.press('x enter')
    assert.match(bottom(), /wait: another change is still running/)
    assert.equal(steering.told.length, 1)

    // The method ids have changed, so nodes of the old snapshot must not be drawn with new names.
    methods.names.length = 0
    steering.generation = 1
    view.draw()
    assert.doesNotMatch(screen.text, /priceOf|process/)
    const other = new Methods()
    Object.assign(source, { methods: other, tree: treeOf('a.Other.root 1x 5ns', other) })
    await view.refresh()
    assert.match(screen.text, /a\.Other\.root/)
    await steering.finish()
    assert.match(bottom(), /done: root com\.acme/)
  })

  it('if a requested root is impossible, a message is shown until a key is pressed, and the recording does not change', async () => {
    screen.press('r enter')
    await steering.finish(new Error("root 'x' is never instrumented"))
    assert.match(bottom(), /root 'x' is never instrumented/)
    assert.match(screen.text, /OrderService\.process/)
    screen.press('down')
    assert.doesNotMatch(bottom(), /never instrumented/)
  })

  it('the view cannot be frozen while the root is being changed, and a frozen view continues after a change', async () => {
    screen.press('r enter p')
    await turnOfTheLoop()
    assert.match(bottom(), /the root is being changed; press p after that/)
    assert.doesNotMatch(screen.text, /PAUSED/)
    await steering.finish(new Error('no'))

    screen.press('p')
    await turnOfTheLoop()
    assert.match(screen.text, /PAUSED/)
    const other = new Methods()
    Object.assign(source, { methods: other, tree: treeOf('a.Other.root 1x 5ns', other) })
    steering.generation = 1
    view.draw()
    assert.doesNotMatch(screen.text, /PAUSED|priceOf/)
    await view.refresh()
    assert.match(screen.text, /a\.Other\.root/)
  })

  it('no root can be requested while the view is frozen', async () => {
    screen.press('p')
    await turnOfTheLoop()
    screen.press('r')
    assert.match(bottom(), /paused: press p before/)
  })
})

describe('exact times of sampled methods', () => {
  const isAdaptive = () => {
    const { status } = source
    source.status = () => ({ ...status.call(source), scheme: 'adaptive' })
  }

  it('a method gets exact times after the user has seen the cost of exact times', async () => {
    isAdaptive()
    screen.press('down +')
    assert.match(
      bottom(),
      / time every call of com\.acme\.shop\.Pricing\.priceOf\(int\) below the roots\?\n Enter time it {2}estimating the overhead \.\.\. {2}Esc/,
    )
    screen.press('enter')
    assert.deepEqual(steering.told, ['cost com.acme.shop.Pricing.priceOf(int)'])
    await steering.finish()
    view.draw()
    assert.match(bottom(), /below the roots\?\n Enter time it {2}done: cost com/)
    screen.press('enter')
    assert.deepEqual(steering.told.slice(1), ['time com.acme.shop.Pricing.priceOf(int)'])
    await steering.finish()
    assert.match(bottom(), /done: time com\.acme/)
  })

  it('an excluded method gets no exact times, and a refusal shows its reason', async () => {
    isAdaptive()
    screen.press('down + escape')
    await steering.finish(new Error('no room'))
    assert.match(bottom(), /no room/)
    screen.press('+')
    await steering.finish()
    screen.press('escape down')
    assert.deepEqual(
      steering.told.filter((it) => it.startsWith('time')),
      [],
    )
  })

  it('exact times of a single row need scheme adaptive', () => {
    screen.press('down +')
    assert.match(bottom(), /timing a single method needs --scheme adaptive/)
    assert.deepEqual(steering.told, [])
  })
})

describe('excluding methods', () => {
  it('a method, its class or its package can be excluded', async () => {
    screen.press('down down x')
    assert.equal(
      bottom(),
      ` exclude com.acme.Cache.get(int) and methods that only it calls?
 Enter exclude  m method  c class  p package  Esc cancel`,
    )
    screen.press('x')
    assert.match(bottom(), /exclude com\.acme\.Cache and methods that only it calls\?/)
    screen.press('x')
    assert.match(bottom(), /exclude com\.acme\.\* and/)
    screen.press('x')
    assert.match(bottom(), /Cache\.get\(int\)/)
    screen.press('p enter')
    assert.deepEqual(steering.told, ['out com.acme.*'])
    await steering.finish()
    assert.match(bottom(), /done: out com\.acme\.\*/)
  })

  it('excluded rows are marked', async () => {
    steering.out.add(methods.names.findIndex((it) => it.method === 'priceOf'))
    await view.refresh()
    assert.match(screen.text, /Pricing\.priceOf \(left out\)/)
    screen.press('m')
    assert.match(screen.text, /Pricing\.priceOf \(left out\)/)
  })

  it('exclusions and inclusions are listed, can be reverted, and can be typed on a terminal of 80x24', async () => {
    screen.press('X')
    assert.match(screen.text, /No exclusions or additions yet/)
    screen.press('escape')
    steering.byHand = [
      { what: 'exclude', text: 'com.acme.Cache.get(int)', atMs: 12_340, methods: 1, below: 2 },
      { what: 'add', text: `com.acme.${'very.long.'.repeat(12)}*`, atMs: 0, methods: 12, below: 0 },
    ]
    screen.press('X up')
    assert.equal(
      screen.text,
      ` jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
 scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled 0.3 %
    after  methods    callees  - excluded, + added (Enter: undo)
   12.3 s        1          2  - com.acme.Cache.get(int)
    start       12             + com.acme.very.long.very.long.very.long.very.lon${'\n'.repeat(18)}
 Enter undo  - exclude ...  + add ...  Esc close`,
    )
    screen.press('enter')
    assert.deepEqual(steering.told, ['back com.acme.Cache.get(int)'])
    await steering.finish()
    screen.press('-')
    for (const letter of 'a.B.x') screen.press(letter)
    screen.press('backspace c')
    assert.match(bottom(), /exclude a\.B\.c/)
    screen.press('enter')
    assert.equal(steering.told.at(-1), 'out a.B.c')
    await steering.finish(new Error('cannot exclude a.B.c: no method with probes matches'))
    assert.match(bottom(), /cannot exclude a\.B\.c/)
    screen.press('X +')
    for (const letter of 'java.util.*') screen.press(letter)
    assert.equal(
      bottom(),
      ` add java.util.*▏
 pkg.Class.method(int), pkg.Class, pkg.*, pkg.**  Enter add  Esc back`,
    )
    screen.press('enter')
    assert.match(bottom(), /adding java\.util\.\* \.\.\./)
    assert.equal(steering.told.at(-1), 'in java.util.*')
  })

  it('the list of exclusions in ASCII stays inside the screen', async () => {
    for (const [columns, rows] of [
      [80, 24],
      [120, 40],
    ] as const) {
      await open(columns, rows, false)
      methods.names[1] = { ...methods.names[1]!, class: `a.${'VeryLongNameOfAClass'.repeat(9)}` }
      const row = { text: 'x'.repeat(300), atMs: 1e9, methods: 1e6, below: 1e6 }
      steering.byHand = [
        { ...row, what: 'exclude' },
        { ...row, what: 'add' },
      ]
      for (const keys of ['x', 'c', 'escape', 'r', 'escape', 'X', '-', 'b', 'escape', '+', 'b']) {
        screen.press(keys)
        assert.ok(screen.widest <= columns, `${columns}: ${screen.widest}\n${screen.text}`)
        assert.equal(screen.lines.length, rows)
        assert.match(screen.text, /^[\n -~]*$/)
      }
    }
  })

  it('exclusions need a session with probes', async () => {
    delete source.steering
    view = new LiveView(source, screen)
    await view.refresh()
    for (const key of ['x', 'X']) {
      screen.press(key)
      assert.match(bottom(), /probes cannot be changed here/)
    }
  })
})
