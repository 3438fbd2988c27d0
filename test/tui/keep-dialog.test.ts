import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { beforeEach, describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import type { Keeper } from '../../src/tui/keeper.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const FORMATS = [
  { name: 'json', extension: '.json', description: 'everything' },
  { name: 'csv', extension: '.csv', description: 'a table' },
]

let screen: FakeScreen
let source: FakeSource & { keeper?: Keeper }
let written: string[]
let taken: string[]
/** Ends the current write. */
let finish: (error?: Error) => void

async function open(columns = 80, rows = 24, unicode = true): Promise<LiveView> {
  written = []
  taken = []
  const methods = new Methods()
  screen = new FakeScreen(columns, rows, unicode)
  source = new FakeSource(methods, treeOf('main 1x 5ns ( work 2x 7ns )', methods))
  source.keeper = {
    formats: FORMATS,
    nameFor: ({ extension }) => `jfluid-4711${extension}`,
    exists: (path) => taken.includes(path),
    write: ({ name }, path) =>
      new Promise((resolve, reject) => {
        written.push(`${name} ${path}`)
        finish = (error) => (error === undefined ? resolve(`wrote ${path}`) : reject(error))
      }),
  }
  const view = new LiveView(source, screen)
  await view.refresh()
  return view
}

const bottom = (): string[] => screen.text.split('\n').slice(-2)

async function finished(error?: Error): Promise<void> {
  finish(error)
  await turnOfTheLoop()
}

beforeEach(async () => {
  await open()
})

describe('the key s, which writes the profile to a file', () => {
  it('the key s asks for a file name and suggests a name', () => {
    screen.press('s')
    assert.deepEqual(bottom(), [' write to jfluid-4711.jfluid▏', ' Enter write  Ctrl-U clear  Esc cancel'])
  })

  it('the key s writes a file with the typed name, and messages report the start and the end of writing', async () => {
    screen.press('s C-u a b backspace space c . j enter')
    assert.deepEqual(written, ['jfluid a c.j'])
    assert.equal(bottom()[0], ' writing a c.j ...')
    await finished()
    assert.equal(bottom()[0], ' wrote a c.j')
  })

  it('while a file name is typed, keys such as q enter a letter, and Esc writes nothing', () => {
    screen.press('s C-u q s t')
    assert.equal(bottom()[0], ' write to qst▏')
    screen.press('escape')
    assert.deepEqual(written, [])
    assert.match(screen.text, / q quit/)
  })

  it('the key s asks before it replaces a file', () => {
    taken = ['jfluid-4711.jfluid']
    screen.press('s enter')
    assert.deepEqual(bottom(), [' jfluid-4711.jfluid already exists', ' Enter replace  Esc cancel'])
    screen.press('escape')
    assert.deepEqual(written, [])
    screen.press('s enter enter')
    assert.deepEqual(written, ['jfluid jfluid-4711.jfluid'])
  })

  it('a failed write is shown until a key is pressed, and recording continues', async () => {
    screen.press('s enter')
    await finished(new Error('cannot write x: no space left on the device'))
    assert.equal(
      screen.styled('warning'),
      '|cannot write x: no space left on the device; press s or e to try again',
    )
    screen.press('down')
    assert.equal(screen.styled('warning'), '')
    assert.match(screen.text, /recording/)
  })

  it('the key s writes no file if no file name is typed', () => {
    screen.press('s C-u enter')
    assert.deepEqual(written, [])
    screen.press('x enter')
    assert.deepEqual(written, ['jfluid x'])
  })

  it('the end of a file name that is too long for the screen is visible', () => {
    screen.press(`s C-u ${[...'a'.repeat(100)].join(' ')} z`)
    assert.match(bottom()[0]!, /^ write to …a+z▏$/)
    assert.ok(screen.widest <= 80)
  })

  it('only one file is written at a time, and other keys work while the file is written', async () => {
    screen.press('s enter s')
    assert.equal(written.length, 1)
    assert.match(bottom()[0]!, /wait: another file is still being written/)
    screen.press('m')
    assert.match(screen.text, /% self/)
    await finished()
    screen.press('s enter')
    assert.equal(written.length, 2)
  })
})

describe('the key e, which exports the profile', () => {
  it('the key e lists the export formats on a terminal of 80x24', () => {
    screen.press('e down')
    assert.equal(
      screen.text,
      ` jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
 scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled 0.3 %
  format        description
  json          everything
  csv           a table


















 Enter export  Esc close`,
    )
    assert.equal(screen.styled('selected'), 'csv           a table')
  })

  it('the list of export formats shows the complete description of the selected format', async () => {
    const words = 'one row per context with its path and all its numbers, for spreadsheets and data frames'
    await open()
    source.keeper = { ...source.keeper!, formats: [FORMATS[0]!, { ...FORMATS[1]!, description: words }] }
    const view = new LiveView(source, screen)
    await view.refresh()
    screen.press('e')
    assert.doesNotMatch(screen.text, /data frames/)
    screen.press('down')
    assert.match(screen.text.replaceAll(/\n +/g, ' '), new RegExp(words))
  })

  it('after the format is chosen, a file name with the extension of the format is suggested', () => {
    screen.press('e down enter')
    assert.equal(bottom()[0], ' write to jfluid-4711.csv▏')
    screen.press('enter')
    assert.deepEqual(written, ['csv jfluid-4711.csv'])
  })

  it('the list of export formats uses ASCII if the terminal has no UTF-8', async () => {
    await open(80, 24, false)
    screen.press('e enter')
    assert.equal(bottom()[0], ' write to jfluid-4711.json_')
  })
})

describe('a request to leave while a profile is being written', () => {
  it('after the first request to leave, the view waits until the file is written; after a second request, the view ends at once', async () => {
    const left = (await open()).run()
    screen.press('s enter q')
    assert.match(bottom()[0]!, /jfluid quits when the file is written/)
    await finished()
    assert.equal(await left, 'quit')

    const again = (await open()).run()
    screen.press('s enter q q')
    assert.equal(await again, 'quit')
  })

  it('the view ends at once even if its question for a file name is not answered', async () => {
    const left = (await open()).run()
    screen.press('s C-c')
    assert.equal(await left, 'quit')
  })
})

it('the keys s and e show a hint if the view cannot write files', async () => {
  await open()
  const bare = new FakeSource(source.methods, source.tree)
  const view = new LiveView(bare, screen)
  await view.refresh()
  screen.press('s')
  assert.match(screen.text, /nothing can be saved here/)
})
