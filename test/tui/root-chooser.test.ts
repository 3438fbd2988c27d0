import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { NameField } from '../../src/tui/name-field.ts'
import type { RootChoice } from '../../src/tui/root-choice.ts'
import { chooseRoot, RootChooser } from '../../src/tui/root-chooser.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen } from './fake-screen.ts'

const TREE = `java.lang.Thread.run 1x 0ns ( shop.Worker.loop 1x 10ns (
  shop.Orders.process 20x 40ns ( shop.Journal.append 9x 50ns )
  shop.Worker.idle 2x 1ns ) )`
const METHODS = ['shop.Orders.process', 'shop.Journal.append', 'shop.Orders.sum']

function choiceOf(change: Partial<RootChoice> = {}): RootChoice {
  const methods = new Methods()
  const merged = treeOf(TREE, methods)
  const row = { seen: 20, depth: 2, threads: ['worker-1', 'worker-2'], returns: true }
  return {
    ...{ pid: 4711, mainClass: 'shop.Main', jdk: '25.0.3', durationMs: 3_000, warnings: [] },
    snapshot: {
      merged,
      threads: [{ id: 1, name: 'worker-1', tree: merged }],
      ...{ events: 101, waitNs: 0, healed: 0 },
    },
    rows: [
      { ...row, root: 'shop.Orders.process', share: 0.9 },
      { ...row, root: 'shop.Journal.append', share: 0.5 },
      { ...row, root: 'shop.Worker.loop', share: 1, seen: 1, returns: false },
    ],
    answer: () => [],
    methods: METHODS,
    classes: ['shop.Orders', 'shop.Journal'],
    methodName: (id) => methods.names[id],
    samplesNow: () => 101,
    ended: new Promise(() => {}),
    rootOf: (name) => (name.class.startsWith('java.') ? null : `${name.class}.${name.method}`),
    problemOf: (text) => (text.includes('.') ? null : 'it names no class'),
    ...change,
  }
}

let screen: FakeScreen
let chooser: RootChooser

async function open(columns = 80, change: Partial<RootChoice> = {}, unicode = true): Promise<void> {
  screen = new FakeScreen(columns, 24, unicode)
  chooser = new RootChooser(choiceOf(change), screen)
  await chooser.refresh()
}
const detail = (): string => screen.text.split('\n').at(-2)!.trim()

beforeEach(() => open())

describe('the picker, which lets the user choose a root', () => {
  it('the picker first lists candidates, best first, and marks candidates that may never return', () => {
    const lines = screen.text.split('\n')
    expect(lines.slice(0, 6)).toEqual([
      ' jfluid  pid 4711  shop.Main                                choose a root 3.0 s',
      ' whole JVM  101 samples of 1 threads          candidates  sampled tree  by name',
      ' share %   seen  depth  threads  method',
      '    90.0     20      2        2  shop.Orders.process',
      '    50.0     20      2        2  shop.Journal.append',
      '   100.0      1      2        2  shop.Worker.loop  in every sample',
    ])
    expect(detail()).toBe('threads: worker-1, worker-2')
  })

  it('the answer of jfluid why is shown above the candidates; if the answer is long, a line names the key that shows all lines', async () => {
    const rows = Array.from({ length: 9 }, (_, i) => ({
      ...{
        root: `shop.Orders.step${i}`,
        share: 0.9,
        seen: 20,
        depth: 2,
        threads: ['worker-1'],
        returns: true,
      },
    }))
    const answer = (lines: number) => () => Array.from({ length: lines }, (_, i) => `line ${i + 1}`)
    await open(80, { rows, answer: answer(14) })
    const lines = screen.text.split('\n')
    expect([lines[2], lines[15]]).toEqual([' line 1', ' line 14'])
    expect(lines[16]).toBe(' share %   seen  depth  threads  method')
    expect(lines.slice(17, 22).every((it) => it.includes('shop.Orders.step'))).toBe(true)
    expect(screen.styled('selected')).toContain('step0')

    await open(80, { rows, answer: answer(20) })
    expect(screen.text.split('\n')[15]).toBe(' … 7 more lines: a')
    screen.press('end')
    expect(screen.styled('selected')).toContain('step8')
    screen.mouse('click', 40, 17)
    expect(screen.styled('selected')).toContain('step4')
    screen.press('a')
    expect(screen.text).toContain('line 19')
    screen.press('escape tab')
    expect(screen.text).not.toContain('line 1')
  })

  it('the picker shows the number of samples while samples are taken', async () => {
    await open(80, { samplesNow: () => 1234 })
    expect(screen.text.split('\n')[1]).toBe(
      ' whole JVM  101 samples, now 1,234            candidates  sampled tree  by name',
    )
  })

  it('Enter chooses the selected root after the user has confirmed the choice', async () => {
    const left = chooser.run()
    screen.press('down enter')
    expect(detail()).toBe('Attach with root shop.Journal.append? Enter: yes, Esc: no')
    expect(chooser.chosen).toBeNull()
    screen.press('escape enter y')
    expect(await left).toBe('quit')
    expect(chooser.chosen).toBe('shop.Journal.append')
  })

  it.each([['q'], ['escape'], ['C-c']])('the key %s leaves the picker without a root', async (key) => {
    const chosen = chooseRoot(choiceOf(), screen)
    screen.press(key)
    expect(await chosen).toEqual({ left: 'quit', root: null })
  })

  it('the picker ends without a root when the JVM ends', async () => {
    expect(await chooseRoot(choiceOf({ ended: Promise.resolve('the JVM ended') }), screen)).toEqual({
      left: 'quit',
      root: null,
    })
  })

  it('a signal ends the picker without a root, even while the picker asks for confirmation', async () => {
    const chosen = chooseRoot(choiceOf(), screen)
    screen.press('enter')
    screen.signal('SIGTERM')
    expect(await chosen).toEqual({ left: 'SIGTERM', root: null })
  })

  it('the tree of the picker shows the selected candidate, and marks candidates with a star', () => {
    screen.press('tab')
    expect(screen.styled('selected')).toMatch(/shop\.Orders\.process \*$/)
    expect(screen.text).toMatch(/shop\.Worker\.loop$/m)
    expect(screen.text).toContain('% all')
    screen.press('right enter')
    expect(detail()).toBe('Attach with root shop.Journal.append? Enter: yes, Esc: no')
  })

  it('a row of the tree whose method cannot be a root is refused', () => {
    screen.press('t home enter')
    expect(detail()).toBe('this row cannot be a root: choose a method that has bytecode')
  })

  it('the key / searches the candidates, and all rows of the tree, including closed rows', () => {
    screen.press('/ a p p e n d enter')
    expect(screen.styled('selected')).toContain('shop.Journal.append')
    screen.press('/ i d l e enter')
    expect(detail()).toContain('no candidate matches "idle"')
    screen.press('t / i d l e enter')
    expect(screen.styled('selected')).toContain('shop.Worker.idle')
  })

  it('a partly typed method name is completed', () => {
    screen.press('r j a p')
    expect(screen.styled('selected')).toBe('shop.Journal.append')
    screen.press('enter')
    expect(detail()).toBe('Attach with root shop.Journal.append? Enter: yes, Esc: no')
    screen.press('escape C-u a b')
    expect(screen.text).toContain('root: ab')
    screen.press('enter')
    expect(detail()).toBe('it names no class')
  })

  it('while a name is typed, the key q is a letter and does not leave the picker', () => {
    screen.press('r q j k ? /')
    expect(screen.text).toContain('root: qjk?/')
    screen.press('escape')
    expect(screen.text).toContain(' share %')
  })

  it('if there are no candidates, the picker begins with the tree or with the name field', async () => {
    await open(80, { rows: [] })
    expect(screen.text).toContain('java.lang.Thread.run')
    const methods = new Methods()
    const merged = treeOf('', methods)
    await open(80, { rows: [], snapshot: { merged, threads: [], events: 0, waitNs: 0, healed: 0 } })
    expect(screen.text).toContain('root: ')
  })

  it('a help page lists all keys, and the first Esc closes the page', () => {
    screen.press('?')
    expect(screen.text).toContain('use the selected method as the root')
    screen.press('escape')
    expect(screen.text).toContain(' share %')
  })

  it('while the help page is open, the mouse wheel scrolls only that page, and a click closes the page', async () => {
    await open(80, { warnings: Array.from({ length: 30 }, (_, i) => `warning ${i}.`) })
    screen.press('w')
    expect(screen.text).toContain('warning 0.')
    screen.mouse('wheel-down', 40, 4)
    expect(screen.text).not.toContain('warning 0.')
    expect(screen.text).toContain('warning 1.')
    screen.mouse('click', 40, 4)
    expect(screen.styled('selected')).toContain('shop.Orders.process')
  })

  it('a click selects a root, and a second click asks for confirmation; the mouse wheel moves the selection', () => {
    screen.mouse('click', 40, 4)
    expect(screen.styled('selected')).toContain('shop.Journal.append')
    screen.mouse('click', 40, 4)
    expect(detail()).toContain('Attach with root shop.Journal.append?')
    screen.press('escape')
    screen.mouse('wheel-up', 40, 4)
    expect(screen.styled('selected')).toContain('shop.Orders.process')
  })

  it('the picker fits a screen of any width, and uses only ASCII if the terminal has no UTF-8', async () => {
    for (const columns of [60, 80, 120, 200]) {
      await open(columns, {}, false)
      for (const keys of ['tab', 'tab', '?']) {
        expect(screen.widest, `${columns} columns`).toBeLessThanOrEqual(columns)
        expect(screen.text).not.toMatch(/[^\n -~]/)
        screen.press(keys)
        await turnOfTheLoop()
      }
    }
  })
})

describe('the name field of the picker', () => {
  const field = (): NameField => new NameField(METHODS, ['shop.Orders', 'shop.Journal'])
  const typed = (text: string): NameField => {
    const made = field()
    for (const letter of text) made.type(letter)
    return made
  }

  it('the name field completes a class name with a dot, and after the dot only methods of the class', () => {
    const made = typed('orders')
    made.move(made.fitting.indexOf('shop.Orders'))
    expect(made.enter()).toBeNull()
    expect(made.text).toBe('shop.Orders.')
    expect([...made.fitting].sort()).toEqual(['shop.Orders.process', 'shop.Orders.sum'])
    expect(made.enter()).toMatch(/^shop\.Orders\./)
  })

  it('the name field accepts names that are not in the list, such as overloads and other methods', () => {
    expect(typed('Basket.add(Item, int)').enter()).toBe('Basket.add(Item, int)')
    expect(typed('shop.Orders.zz').enter()).toBe('shop.Orders.zz')
    expect(field().type('f5')).toBe(false)
  })

  it('an empty name field is filled with the selected name', () => {
    expect(METHODS.concat('shop.Journal', 'shop.Orders')).toContain(field().fitting[0])
  })
})
