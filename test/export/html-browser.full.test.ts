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
import { allTabs } from './all-tabs.ts'

interface Frame {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly width: number
}

const SIZE = { width: 1300, height: 800 }

describe('the exported HTML page in a browser', () => {
  let browser: Browser
  let page: Page
  /** Errors and requests of the page. */
  const problems: string[] = []
  const directory = temporaryDirectory('jfluid-html-')

  beforeAll(async () => {
    browser = await startBrowser('--disable-gpu')
    page = await browser.newPage({ viewport: SIZE })
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
  afterEach(async () => {
    await page.setViewportSize(SIZE)
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
  const TABS = ['flame', 'tree', 'hot', 'callers', 'latency', 'slow', 'locks', 'timeline', 'traces', 'cost']
  const openAllTabs = () => open(pagePieces(profilePage(allTabs())))
  const selectedRow = (tab: string) => page.locator(`#panel-${tab} .row.selected`)
  const openProfile = () => open(pagePieces(profilePage({ ...profile, threads })))

  it('the exported page draws frames as wide as their cost; a click on a frame zooms in, and Escape zooms out', async () => {
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

  it('in the exported page, arrow keys move the selection, and Enter zooms into the selected frame', async () => {
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

  it('a search in the exported page shows the number of matching contexts and marks the rows of these contexts', async () => {
    await openProfile()
    await page.keyboard.press('/')
    await page.keyboard.type('leaf')
    assert.equal(await page.textContent('#found'), '2 contexts, 40.0 % of the total with what they call')
    await page.click('#tab-tree')
    assert.equal(await page.locator('#panel-tree .row.match').count(), 2)
    await page.click('#tab-hot')
    assert.deepEqual(await rows('hot'), ['com.acme.App.leaf(int)'])
  })

  it('tree rows in the exported page are opened and closed with the mouse and with keys', async () => {
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

  it('hot methods in the exported page can be sorted by any column, and link to their callers', async () => {
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

  it('the exported page can show the tree of a single thread', async () => {
    await openProfile()
    await page.selectOption('#shown', { label: 'idle (3)' })
    await page.locator('#detail', { hasText: '7 calls' }).waitFor()
    assert.deepEqual(
      (await frames()).map(({ name }) => name),
      ['com.acme.App.main'],
    )
  })

  it('the exported page uses the dark mode of the system, and a button switches the mode', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    await openProfile()
    const theme = () => page.evaluate('document.documentElement.dataset.theme')
    assert.equal(await theme(), 'dark')
    await page.click('#theme')
    assert.equal(await theme(), 'light')
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it('when the exported page is printed, all tabs are shown one below the other', async () => {
    await openAllTabs()
    const pdf = await page.pdf()
    assert.ok(pdf.byteLength > 1000)
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for (const tab of TABS) assert.ok(await page.locator(`#panel-${tab}`).isVisible(), tab)
    // Lists are as high as their rows, so that no section overlaps the next one.
    await page.setViewportSize({ width: 800, height: 200 })
    await page.emulateMedia({ media: 'print' })
    const cut = await page.evaluate(
      "[...document.querySelectorAll('.rows')].filter((it) => it.scrollHeight > it.clientHeight + 1).map((it) => it.ariaLabel)",
    )
    assert.deepEqual(cut, [])
    await page.emulateMedia({ media: null })
  })

  it('in a differential flame graph, an increase is orange, a decrease is blue, and removed contexts are shown', async () => {
    const before = profileOf('main 1x 100ns ( slower 1x 100ns faster 1x 400ns gone 1x 200ns )')
    const after = profileOf('main 1x 100ns ( slower 1x 400ns faster 1x 100ns )')
    const of = (path: string, it: Profile) => ({ path, profile: it })
    await open(pagePieces(comparePage(of('a', before), of('b', after), changesOf(before, after), [])))
    assert.ok((await rows('changes')).length > 0)
    await page.click('#tab-flame')
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

  it('the exported page of a profile with 300,000 contexts opens and contains the largest contexts', async () => {
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

  for (const width of [1280, 800])
    it(`at a width of ${width} pixels each tab of the exported page fits and shows its data`, async () => {
      await page.setViewportSize({ width, height: 800 })
      await openAllTabs()
      for (const tab of TABS) {
        await page.click(`#tab-${tab}`)
        assert.ok(await page.locator(`#panel-${tab}`).isVisible(), tab)
        assert.equal(await page.locator('section[role="tabpanel"]:visible').count(), 1, tab)
        const content = page.locator(`#panel-${tab}`).locator('.row, canvas, svg')
        assert.ok((await content.count()) > 0, tab)
        const box = await content.first().boundingBox()
        assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width, tab)
        const over = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        assert.equal(await page.evaluate(over), 0, `${tab} is wider than the window`)
        const button = await page.locator(`#tab-${tab}`).boundingBox()
        assert.ok(button !== null && button.x + button.width <= width, tab)
      }
      // A name has room beside the numbers.
      await page.click('#tab-tree')
      const name = await page.locator('#panel-tree .row .name').first().boundingBox()
      assert.ok(name!.width > 200, `${name!.width} pixels`)
    })

  it('in the exported page, keys select tabs in their order', async () => {
    await openAllTabs()
    for (const [key, tab] of [...'1234567890'].map((it, i) => [it, TABS[i]!] as const)) {
      await page.keyboard.press(key)
      assert.ok(await page.locator(`#panel-${tab}`).isVisible(), `key ${key}`)
    }
  })

  it('the link of a row of the exported page opens the same row in another window', async () => {
    await openAllTabs()
    const url = page.url()
    const selected = (tab: string): Promise<string[]> =>
      (tab === 'timeline' ? page.locator('#timeline-second') : selectedRow(tab)).allTextContents()
    for (const tab of TABS.slice(1)) {
      await page.click(`#tab-${tab}`)
      if (tab === 'timeline') {
        await page.focus('#panel-timeline .timeline')
        await page.keyboard.press('Home')
        await page.click('#second-link')
      } else {
        const row = page.locator(`#panel-${tab} .row`).last()
        await row.hover()
        await row.locator('.link').click()
      }
      const link = await page.inputValue('#link-text')
      const here = await selected(tab)
      assert.ok(here.length > 0, tab)
      assert.match(link, new RegExp(`^page\\.html#tab=${tab}&at=[0-9a-z.]+&page=[0-9a-f]{8}$`))
      assert.equal(await page.evaluate('location.hash'), link.slice('page.html'.length))
      await page.goto('about:blank')
      await page.goto(url + link.slice('page.html'.length))
      await page.waitForSelector('body[data-ready]')
      assert.ok(await page.locator(`#panel-${tab}`).isVisible(), link)
      assert.ok(await page.locator('#link-problem').isHidden(), link)
      assert.deepEqual(await selected(tab), here, link)
    }
  })

  it('the link of a frame of a slow call opens the tree of the slow call, with the frame zoomed in', async () => {
    await openAllTabs()
    await page.selectOption('#shown', { label: 'all slow calls' })
    await page.locator('#detail', { hasText: '1 calls' }).waitFor()
    await click('reload')
    await page.keyboard.press('l')
    const link = await page.inputValue('#link-text')
    assert.match(link, /^page\.html#tab=flame&tree=3&at=2&page=/)
    await openAllTabs()
    await page.keyboard.press('/')
    await page.keyboard.type('other')
    // A link that is pasted into the address bar of an open page clears the search.
    await page.evaluate(`location.hash = '${link.slice('page.html'.length)}'`)
    await page.locator('#detail', { hasText: 'reload' }).waitFor()
    assert.equal(await page.inputValue('#search'), '')
    const { width } = await frame('reload')
    assert.equal(width, (await frame('main')).width)
  })

  it('a link with parts that the exported page does not have opens the page and names these parts', async () => {
    await openAllTabs()
    const problem = page.locator('#link-problem')
    const id = await page.getAttribute('body', 'data-page')
    const follow = async (fragment: string): Promise<string | null> => {
      await page.evaluate(`location.hash = '${fragment}'`)
      await problem.and(page.locator(':visible')).waitFor()
      const found = await problem.textContent()
      await page.evaluate(`location.hash = '#tab=hot&page=${id}'`)
      await problem.waitFor({ state: 'hidden' })
      return found
    }
    const missing = 'This page does not have these parts of the link: '
    assert.equal(await follow('#tab=nothing'), `${missing}tab=nothing`)
    assert.equal(await follow(`#tab=tree&at=zzzz&page=${id}`), `${missing}at=zzzz`)
    assert.equal(await follow(`#tab=tree&tree=99&page=${id}`), `${missing}tree=99`)
    assert.equal(await follow('#tab=slow&x=%26'), `${missing}x=%26`)
    assert.match(
      (await follow('#tab=tree&at=1&page=01234567'))!,
      /^This link is of another page\. Open the file/,
    )
  })

  it('the exported page copies a link, or selects it if the browser has no clipboard', async () => {
    const clipboard = (of: string) =>
      page.evaluate(`Object.defineProperty(navigator, 'clipboard', { configurable: true, value: ${of} }); 0`)
    await openAllTabs()
    await page.keyboard.press('2')
    await clipboard('{ writeText: async (text) => { window.copiedText = text } }')
    await page.keyboard.press('l')
    await page.locator('#link-note', { hasText: 'copied' }).waitFor()
    const link = await page.inputValue('#link-text')
    assert.equal(await page.evaluate('copiedText'), link)
    for (const without of ['undefined', "{ writeText: async () => { throw new Error('denied') } }"]) {
      await openAllTabs()
      await page.keyboard.press('2')
      await clipboard(without)
      await page.keyboard.press('l')
      await page.locator('#link-note', { hasText: 'Ctrl+C' }).waitFor()
      assert.equal(await page.evaluate('getSelection().toString()'), link)
    }
  })

  it('a slow call in the exported page opens its tree, and a method of a list opens its callers', async () => {
    await openAllTabs()
    await page.click('#tab-slow')
    await page.locator('#list-slow-0 .row').first().dblclick()
    await page.locator('#panel-tree').waitFor()
    assert.equal(await page.inputValue('#shown'), '4')
    assert.deepEqual(
      await rows('tree'),
      ['main', 'work', 'reload'].map((name) => `com.acme.App.${name}`),
    )
    await page.click('#tab-slow')
    await page.locator('#list-slow-2 .row', { hasText: 'reload' }).dblclick()
    await page.locator('#panel-tree').waitFor()
    assert.equal(await page.inputValue('#shown'), '3')
    assert.match((await selectedRow('tree').textContent())!, /reload/)
    await page.selectOption('#shown', '0')
    await page.click('#tab-locks')
    await page.locator('#panel-locks .row').last().dblclick()
    assert.match((await page.textContent('#callers-of'))!, /^Callers of com\.acme\.App\.work/)
  })

  it('in the timeline of the exported page, keys and a click select a second', async () => {
    await openAllTabs()
    await page.click('#tab-timeline')
    const text = () => page.textContent('#timeline-second')
    // The second with the longest call is selected at first.
    assert.match(
      (await text())!,
      /^8 s to 9 s: root calls 52; latency maximum 180 ms, p95 20\.0 ms, median 5\.00 ms;/,
    )
    await page.focus('#panel-timeline .timeline')
    await page.keyboard.press('ArrowLeft')
    assert.match((await text())!, /^7 s to 8 s: root calls 2,000;/)
    const box = (await page.locator('#panel-timeline svg').first().boundingBox())!
    await page
      .locator('#panel-timeline svg')
      .first()
      .click({ position: { x: box.width * 0.75, y: 10 } })
    await page.mouse.move(0, 0)
    assert.match((await text())!, /^8 s to 9 s/)
    assert.equal(await page.getAttribute('#panel-timeline .timeline', 'aria-valuenow'), '8')
  })

  describe('with a time range', () => {
    const RANGE =
      '8 s to 10 s of 10 s (rounded to segments of 5 s), all threads together.' +
      ' Of the whole recording: Locks, Traces, Session cost, the other entries of the list beside the tabs.'
    const drag = async (from: number, to: number): Promise<void> => {
      const { x, y, width } = (await page.locator('#panel-timeline svg').first().boundingBox())!
      await page.mouse.move(x + width * from, y + 10)
      await page.mouse.down()
      await page.mouse.move(x + width * to, y + 10)
      await page.mouse.up()
    }
    const selectByKeys = async (): Promise<void> => {
      await openAllTabs()
      await page.click('#tab-timeline')
      await page.focus('#panel-timeline .timeline')
      for (const key of ['End', 'Space', 'Space']) await page.keyboard.press(key)
      await page.locator('#range', { hasText: '8 s to 10 s' }).waitFor()
    }
    const cells = (tab: string): Promise<string[]> => page.locator(`#panel-${tab} .row`).allTextContents()

    it('a range of the timeline is shown by the tree, the hot methods, the latency and the slow calls', async () => {
      await selectByKeys()
      assert.equal(await page.textContent('#range-text'), RANGE)
      await page.click('#tab-tree')
      const found = await rows('tree')
      assert.deepEqual(
        found.map((it) => it.replace(/^.*App\./, '')),
        ['main', 'other'],
      )
      await page.click('#tab-hot')
      assert.ok((await cells('hot'))[0]!.includes('other'))
      await page.click('#tab-latency')
      assert.equal(await page.textContent('#title-latency-0'), 'Latency of 1 root call in the range')
      assert.match((await cells('latency'))[1]!, /^100 msp50/)
      await page.click('#tab-slow')
      assert.equal(await page.locator('#list-slow-0 .row').count(), 0)
      assert.match((await page.locator('#list-slow-1').textContent())!, /java\.io\.IOException/)
      assert.doesNotMatch((await page.locator('#list-slow-1').textContent())!, /SQLTimeoutException/)
      await page.click('#range-end')
      assert.ok(await page.locator('#range').isHidden())
      assert.ok((await page.locator('#list-slow-0 .row').count()) > 0)
      await page.click('#tab-latency')
      assert.equal(await page.textContent('#title-latency-0'), 'Latency of 4,252 root calls')
      await page.click('#tab-tree')
      await page.locator('#panel-tree .row', { hasText: 'work' }).waitFor()
    })

    it('a drag selects a range, and Escape the whole recording', async () => {
      await openAllTabs()
      await page.click('#tab-timeline')
      await drag(0.6, 0.9)
      assert.ok(await page.locator('#range').isHidden(), 'a drag within one second selects the second')
      await drag(0.9, 0.2)
      await page.locator('#range', { hasText: '0 s to 10 s of 10 s' }).waitFor()
      await page.keyboard.press('Escape')
      await page.locator('#range').waitFor({ state: 'hidden' })
    })

    it('the link of a row holds the range, and a link without a range shows the whole recording', async () => {
      await selectByKeys()
      await page.click('#tab-tree')
      const row = page.locator('#panel-tree .row', { hasText: 'other' })
      await row.hover()
      await row.locator('.link').click()
      const link = (await page.inputValue('#link-text')).slice('page.html'.length)
      assert.match(link, /^#tab=tree&at=1&range=8-10&page=[0-9a-f]{8}$/)
      const url = page.url().replace(/#.*/, '')
      await page.goto('about:blank')
      await page.goto(url + link)
      await page.waitForSelector('body[data-ready]')
      assert.equal(await page.textContent('#range-text'), RANGE)
      assert.match((await selectedRow('tree').allTextContents()).join(), /other/)
      assert.ok(await page.locator('#link-problem').isHidden())
      await page.evaluate(`location.hash = '${link.replace('range=8-10', 'range=50-60')}'`)
      await page.locator('#link-problem', { hasText: 'range=50-60' }).waitFor()
      await page.evaluate(`location.hash = '${link.replace('&range=8-10', '')}'`)
      await page.locator('#range').waitFor({ state: 'hidden' })
    })
  })

  it('the exported page of a profile without calls opens', async () => {
    await open(pagePieces(profilePage(profileOf(''))))
    assert.deepEqual(await frames(), [])
  })
})
