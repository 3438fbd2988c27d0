// The page in a real browser: no requests, no errors, and its views follow clicks and keys.
// Fails without a browser.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest'
import { comparePage } from '../../src/export/html/compare-page.ts'
import { pagePieces } from '../../src/export/html/page.ts'
import { profilePage } from '../../src/export/html/profile-page.ts'
import { changesOf } from '../../src/profile/changes.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { Methods, profileOf, profileOfTree, randomTree, seeded } from '../profile/trees.ts'
import { startBrowser } from '../support/browser.ts'
import { temporaryDirectory } from '../support/java-process.ts'

interface Frame {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
}

describe('the HTML page in a browser', () => {
  let browser: Browser
  let page: Page
  /** Errors and requests of the page. */
  const problems: string[] = []
  const directory = temporaryDirectory('jfluid-html-')

  beforeAll(async () => {
    browser = await startBrowser('--disable-gpu')
    page = await browser.newPage({ viewport: { width: 1300, height: 800 } })
    page.on('console', (message) => {
      // Caused by the test itself, which reads colours of the canvas.
      if (!message.text().includes('readback')) problems.push(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
    page.on('request', (request) => {
      if (!request.url().startsWith(`file://${directory}`)) problems.push(`request: ${request.url()}`)
    })
  })
  afterAll(async () => {
    await browser?.close()
  })
  afterEach(() => {
    assert.deepEqual(problems.splice(0), [])
  })

  async function open(pieces: Iterable<string>): Promise<void> {
    const file = join(directory, 'page.html')
    writeFileSync(file, [...pieces].join(''))
    await page.goto(`file://${file}`)
    await page.waitForSelector('body[data-ready]')
  }

  const frames = () => page.evaluate('jfluidFrames()') as Promise<Frame[]>
  const frame = async (name: string): Promise<Frame> => {
    const found = (await frames()).find((it) => it.name === `com.acme.App.${name}`)
    assert.ok(found, name)
    return found
  }
  const click = async (name: string): Promise<void> => {
    const { x, y } = await frame(name)
    await page.locator('canvas').click({ position: { x, y } })
  }
  const rows = (panel: string): Promise<string[]> =>
    page.locator(`#panel-${panel} .row .name > span:not(.mark):not(.quiet)`).allTextContents()

  // leaf: 300 through work, 100 through other
  const profile = profileOf(
    'main 1x 100ns ( work 2x 200ns ( leaf 30x 300ns ) other 1x 300ns ( leaf 10x 100ns ) )',
  )
  const idle = profileOf('main 7x 50ns')
  const threads = [...profile.threads, { id: 3, name: 'idle', tree: idle.merged }]
  const openProfile = () => open(pagePieces(profilePage({ ...profile, threads })))

  it('the page draws frames as wide as their cost; a click zooms, Escape goes back', async () => {
    await openProfile()
    const whole = (await frame('main')).width
    assert.ok(Math.abs((await frame('work')).width - whole / 2) < 1)
    await click('work')
    assert.ok(Math.abs((await frame('work')).width - whole) < 1)
    assert.ok(!(await frames()).some(({ name }) => name.endsWith('.other')))
    assert.match(
      (await page.textContent('#detail'))!,
      /^com\.acme\.App\.work\(int\) — 500 ns \(50\.0 %\), own 200 ns, 2 calls$/,
    )
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    assert.ok(Math.abs((await frame('work')).width - whole / 2) < 1)
  })

  it('arrow keys move the selection, and Enter zooms into the selected frame', async () => {
    await openProfile()
    await page.focus('.flame')
    await page.keyboard.press('ArrowDown')
    assert.match((await page.textContent('#detail'))!, /^com\.acme\.App\.work/)
    await page.keyboard.press('ArrowRight')
    assert.match((await page.textContent('#detail'))!, /^com\.acme\.App\.other/)
    const before = (await frame('other')).width
    await page.keyboard.press('Enter')
    assert.ok((await frame('other')).width > before * 2)
  })

  it('a search shows the number of matching contexts and marks their rows', async () => {
    await openProfile()
    await page.keyboard.press('/')
    await page.keyboard.type('leaf')
    assert.equal(await page.textContent('#found'), '2 contexts, 40.0 % of the total with what they call')
    await page.click('#tab-tree')
    assert.equal(await page.locator('#panel-tree .row.match').count(), 2)
    await page.click('#tab-hot')
    assert.deepEqual(await rows('hot'), ['com.acme.App.leaf(int)'])
  })

  it('rows of the tree are opened and closed by mouse and by key', async () => {
    await openProfile()
    await page.keyboard.press('2')
    const all = ['main', 'work', 'leaf', 'other', 'leaf'].map((name) => `com.acme.App.${name}`)
    assert.deepEqual(await rows('tree'), all)
    await page.locator('#panel-tree .row').nth(1).locator('.mark').click()
    assert.deepEqual(await rows('tree'), all.toSpliced(2, 1))
    await page.keyboard.press('ArrowRight')
    assert.deepEqual(await rows('tree'), all)
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowLeft')
    assert.deepEqual(await rows('tree'), all.slice(0, 1))
  })

  it('hot methods can be sorted by any column, and link to their callers', async () => {
    await openProfile()
    await page.keyboard.press('3')
    assert.deepEqual((await rows('hot'))[0], 'com.acme.App.leaf(int)')
    await page.locator('#panel-hot .head button', { hasText: 'total' }).click()
    assert.deepEqual((await rows('hot'))[0], 'com.acme.App.main(int)')
    await page.locator('#panel-hot .row', { hasText: 'leaf' }).dblclick()
    const callers = ['leaf', 'work', 'main', 'other', 'main'].map((name) => `com.acme.App.${name}`)
    assert.deepEqual(await rows('callers'), callers)
    const totals = await page.locator('#panel-callers .row .number:first-child').allTextContents()
    assert.deepEqual(totals, ['400 ns', '300 ns', '300 ns', '100 ns', '100 ns'])
  })

  it('the page shows the tree of a single thread', async () => {
    await openProfile()
    await page.selectOption('#threads', { label: 'idle (3)' })
    await page.waitForFunction("document.querySelector('#detail').textContent.includes('7 calls')")
    assert.deepEqual(
      (await frames()).map(({ name }) => name),
      ['com.acme.App.main'],
    )
  })

  it("the page follows the system's dark mode, and a button changes it", async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    await openProfile()
    const theme = () => page.evaluate('document.documentElement.dataset.theme')
    assert.equal(await theme(), 'dark')
    await page.click('#theme')
    assert.equal(await theme(), 'light')
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it('printing shows all tabs one below the other', async () => {
    await openProfile()
    const pdf = await page.pdf()
    assert.ok(pdf.byteLength > 1000)
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for (const panel of ['flame', 'tree', 'hot', 'callers', 'probes']) {
      assert.ok(await page.locator(`#panel-${panel}`).isVisible(), panel)
    }
  })

  it('a differential flame graph is orange for an increase, blue for a decrease, and shows removed contexts', async () => {
    const before = profileOf('main 1x 100ns ( slower 1x 100ns faster 1x 400ns gone 1x 200ns )')
    const after = profileOf('main 1x 100ns ( slower 1x 400ns faster 1x 100ns )')
    const of = (path: string, it: Profile) => ({ path, profile: it })
    await open(pagePieces(comparePage(of('a', before), of('b', after), changesOf(before, after), [])))
    const colour = async (name: string) => {
      const { x, y, width } = await frame(name)
      const at = `${Math.round(x + width / 2 - 8)}, ${Math.round(y)}, 1, 1`
      const pixel = await page.evaluate(
        `[...document.querySelector('canvas').getContext('2d').getImageData(${at}).data]`,
      )
      const [red, , blue] = pixel as [number, number, number]
      return red > blue + 50 ? 'orange' : blue > red + 50 ? 'blue' : 'neither'
    }
    const found = await Promise.all(['slower', 'faster', 'gone', 'main'].map(colour))
    assert.deepEqual(found, ['orange', 'blue', 'blue', 'neither'])
    await page.selectOption('#widths', 'now')
    assert.ok(!(await frames()).some(({ name }) => name.endsWith('.gone')))
  })

  it('the page opens a profile of 300,000 contexts, and contains the largest contexts', async () => {
    const names = new Methods()
    for (let i = 0; i < 40; i++) names.id(`App.m${i}`)
    const tree = randomTree(300_000, 40, seeded(3))
    await open(pagePieces(profilePage(profileOfTree(tree, names.names))))
    assert.match(
      (await page.textContent('#left-out'))!,
      /^The 200,000 largest contexts are in this page; 100,000 smaller ones are not\./,
    )
    // The list has the numbers of all contexts. Callers are known only for the contexts in the page.
    assert.match(
      (await page.textContent('#callers-of'))!,
      /\. Its contexts that are too small for this page are not among them: \d+\.\d % of its calls are in this page\.$/,
    )
    await page.keyboard.press('2')
    assert.ok((await rows('tree')).length > 10)
    assert.ok(
      (await page.locator('#panel-tree .row').count()) < 100,
      'only rows in sight are in the document',
    )
  })

  it('the page opens a profile without calls', async () => {
    await open(pagePieces(profilePage(profileOf(''))))
    assert.deepEqual(await frames(), [])
  })
})
