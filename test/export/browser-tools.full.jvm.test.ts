// Speedscope and Perfetto in a real browser show the names and numbers of jfluid's exports.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest'
import type { Profile } from '../../src/profile/profile.ts'
import { profileOf } from '../profile/trees.ts'
import { startBrowser } from '../support/browser.ts'
import { newest } from '../support/jdks.ts'
import { perfettoPages } from '../support/perfetto.ts'
import { ofEveryMetric, traced, twoThreads } from './exported.ts'
import { written } from './tools.ts'

const short = (text: string): string => text.replaceAll('com.acme.App.', '')

describe('Speedscope and Perfetto in a browser', () => {
  let browser: Browser
  let page: Page
  const problems: string[] = []
  let pages: string

  beforeAll(async () => {
    pages = await perfettoPages(newest) // downloaded the first time
    // Speedscope needs WebGL.
    browser = await startBrowser('--use-angle=swiftshader', '--enable-unsafe-swiftshader')
  }, 600_000)
  afterAll(async () => {
    await browser?.close()
  })
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 1300, height: 800 }, serviceWorkers: 'block' })
    // Shorter than the test's timeout, so that the error names the missing text.
    page.setDefaultTimeout(20_000)
    page.on('pageerror', (error) => problems.push(error.message))
  })
  afterEach(async () => {
    await page.close()
    assert.deepEqual(problems.splice(0), [])
  })

  describe('the program speedscope', () => {
    const INDEX = createRequire(import.meta.url).resolve('speedscope/dist/release/index.html')

    async function open(profile: Profile, threads = false): Promise<void> {
      // Text drawn on the canvas is also recorded.
      await page.addInitScript(`
        globalThis.drawn = new Set()
        const { fillText } = CanvasRenderingContext2D.prototype
        CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
          globalThis.drawn.add(text)
          return fillText.call(this, text, ...where)
        }`)
      await page.goto(pathToFileURL(INDEX).href)
      await page.setInputFiles('input[type=file]', await written(profile, 'speedscope', threads))
      await page.waitForFunction('drawn.size > 0')
    }

    /** Resolves when these texts are drawn. */
    const draws = (...texts: string[]) =>
      page.waitForFunction(`${JSON.stringify(texts)}.every((text) => drawn.has(text))`)

    /** Resolves when the profile with this title is shown: "main id=1 (1/2)". */
    const shows = (title: string) => page.getByText(title).waitFor()

    /** Returns the rows of the view "Sandwich": "total self name", without percentages. */
    async function methods(): Promise<string[]> {
      await page.keyboard.press('3')
      // The hidden list of profiles is a table as well.
      const rows = page.locator('tr:visible:has(td:nth-child(3))')
      await rows.first().waitFor()
      const texts = await rows.allInnerTexts()
      return texts
        .map((cells) =>
          short(
            cells
              .replace(/\s*\([\d.<>]+%\)/g, '')
              .trim()
              .replace(/\s+/g, ' '),
          ),
        )
        .sort()
    }

    it('speedscope shows the names of contexts, and methods with their times', async () => {
      await open(profileOf('main 1x 100ns ( work 2x 200ns ( leaf 30x 300ns ) other 1x 400ns )'))
      await draws(...['main', 'work', 'leaf', 'other'].map((name) => `com.acme.App.${name}`))
      assert.deepEqual(await methods(), [
        '1.00µs 100.00ns main',
        '300.00ns 300.00ns leaf',
        '400.00ns 400.00ns other',
        '500.00ns 200.00ns work',
      ])
    })

    const counts = ['12 5 main', '7 7 work']
    it.each(
      ofEveryMetric({
        waits: ['700.00ns 0.00ns lock', '700.00ns 700.00ns (blocked on com.acme.Lock)'],
        bytecodes: counts,
        calls: counts,
        samples: counts,
        bytes: [
          ...['100 B 0 B work', '100 B 100 B new byte[]'],
          ...['148 B 0 B main', '48 B 48 B new java.lang.String'],
        ],
        'call sites': ['10.00ns 10.00ns work:7', '20.00ns 20.00ns work:9', '35.00ns 5.00ns main'],
      }),
    )('speedscope shows a profile with %s in the right unit', async (_, profile, expected) => {
      await open(profile)
      assert.deepEqual(await methods(), expected)
    })

    it('speedscope shows one profile per thread', async () => {
      await open(twoThreads(), true)
      await shows('main id=1 (1/2)')
      await page.keyboard.press('n')
      await shows('pool "1";? id=21 (2/2)')
      assert.deepEqual(await methods(), ['54.00ns 54.00ns work', '74.00ns 20.00ns main'])
    })

    it('speedscope shows traced calls in time order, listed after the profile of all calls', async () => {
      await open(traced())
      await page.keyboard.press('n')
      await shows('call 1 in t1 (2/4)')
      assert.deepEqual(await methods(), ['15.00ns 15.00ns get', '22.00ns 7.00ns main'])
      await page.keyboard.press('n')
      await shows('call 1, task 1 in t2 (3/4)')
      assert.deepEqual(await methods(), ['13.00ns 13.00ns run'])
      await page.keyboard.press('1')
      await draws('com.acme.App.run')
      // A recursive method counts once.
      await page.keyboard.press('n')
      await shows('call 2 in t1 (4/4)')
      assert.deepEqual(await methods(), ['9.00ns 9.00ns main'])
    })
  })

  it('Perfetto reads the threads, the begin and end of calls, and the arrows of tasks from a trace events file', async () => {
    const trace = await written(traced(), 'trace-events')
    const types: Readonly<Record<string, string>> = {
      ...{ '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' },
      ...{ '.wasm': 'application/wasm', '.json': 'application/json' },
    }
    // No server: the pages are read from disk, and the trace from the place where the pages look for it; all other requests fail.
    await page.route('**/*', async (route) => {
      const { origin, pathname } = new URL(route.request().url())
      const file = join(pages, pathname === '/' ? 'index.html' : pathname)
      const headers = { 'access-control-allow-origin': '*' }
      if (origin === 'http://127.0.0.1:9001' && pathname === '/localtrace') {
        await route.fulfill({ path: trace, headers })
      } else if (origin === 'http://127.0.0.1:9001' && pathname === '/file_info') {
        await route.fulfill({ body: '{"files":{},"functions":{}}', headers })
      } else if (origin !== 'http://127.0.0.1:9002') await route.abort()
      else if (!existsSync(file)) await route.fulfill({ status: 404 })
      else await route.fulfill({ path: file, contentType: types[extname(file)] ?? 'text/plain' })
    })
    await page.goto('http://127.0.0.1:9002/')
    await page.waitForFunction('globalThis.app?.trace !== undefined')
    await page.evaluate('waitForPerfettoIdle()')
    const rows = async (query: string, columns: string): Promise<string[]> =>
      (await page.evaluate(`(async () => {
        const found = []
        const result = await app.trace.engine.query(${JSON.stringify(query)})
        for (const it = result.iter(${columns}); it.valid(); it.next())
          found.push(Object.keys(${columns}).map((name) => it[name]).join(' '))
        return found
      })()`)) as string[]
    const calls = await rows(
      `select thread.name as thread, slice.name as name, slice.ts as ts, dur, depth from slice
       join thread_track on slice.track_id = thread_track.id join thread using (utid) order by slice.ts`,
      "{ thread: 'str', name: 'str', ts: 0n, dur: 0n, depth: 0 }",
    )
    // Start in ns since the recording began, duration, depth.
    assert.deepEqual(calls.map(short), [
      ...['t1 main 1000 22 0', 't1 get 1005 15 1', 't2 run 1006 13 0'],
      ...['t1 main 5000 9 0', 't1 main 5002 2 1'],
    ])
    const arrows = await rows(
      `select o.name as here, i.name as there from flow
       join slice o on flow.slice_out = o.id join slice i on flow.slice_in = i.id`,
      "{ here: 'str', there: 'str' }",
    )
    assert.deepEqual(arrows.map(short), ['main run'])
    const problemsOfTrace = await rows(
      "select name from stats where severity = 'error' and value > 0",
      "{ name: 'str' }",
    )
    assert.deepEqual(problemsOfTrace, [])
    for (const track of ['t1 1', 't2 2']) await page.getByText(track, { exact: true }).first().waitFor()
  })
})
