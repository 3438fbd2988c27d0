// The HTML page of a recording of a real JVM, in a browser: slow calls, traced calls, latency, the timeline and time ranges.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startBrowser } from '../support/browser.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'
import { type JsonNode, type JsonProfile, jfluid, startRecording } from '../support/jfluid.ts'

describe.each(jdks)('the exported HTML page of a recording of JDK $version', (jdk) => {
  let browser: Browser
  let page: Page
  const problems: string[] = []

  beforeAll(async () => {
    browser = await startBrowser('--disable-gpu')
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    page.on('pageerror', (error) => problems.push(error.message))
    const classes = await compileFixture(jdk, 'Slow')
    const java = startJava(jdk, ['-cp', classes, 'fix.Slow'])
    await java.line(/^ready/)
    const recording = startRecording(
      java.pid,
      ...['--root', 'fix.Slow.serve', '--scheme', 'b', '--slow', '200ms', '--trace', '2'],
    )
    await recording.started
    java.send('go 200')
    await java.line(/^done/)
    await recording.stop()
    const file = join(temporaryDirectory('jfluid-html-'), 'p.html')
    const { stderr } = await jfluid('export', recording.file, '--out', file)
    assert.equal(stderr, '')
    await page.goto(`file://${file}`)
    await page.waitForSelector('body[data-ready]')
  })
  afterAll(async () => {
    await browser?.close()
    assert.deepEqual(problems, [])
  })

  const names = (list: string): Promise<string[]> =>
    page.locator(`${list} .row .name > span:not(.mark):not(.quiet)`).allTextContents()

  it('the page has the tabs for which the recording has data', async () => {
    const tabs = await page.locator('[role="tab"]').allTextContents()
    assert.deepEqual(tabs, [
      ...['Flame graph', 'Tree', 'Hot methods', 'Callers', 'Latency', 'Slow calls', 'Timeline', 'Traces'],
      'Session cost',
    ])
  })

  it('the page shows that slow calls take longer in another branch, and the tree of a slow call', async () => {
    await page.click('#tab-slow')
    assert.match((await page.textContent('#panel-slow h2'))!, /^\d+ calls? of 200 ms or more$/)
    assert.equal((await names('#list-slow-1'))[0], 'fix.Slow.reload')
    await page.locator('#list-slow-0 .row').first().dblclick()
    await page.locator('#panel-tree').waitFor()
    assert.deepEqual((await names('#panel-tree')).slice(0, 2), ['fix.Slow.serve', 'fix.Slow.reload'])
  })

  it('the page shows the number of root calls, and the calls of a traced call', async () => {
    await page.click('#tab-latency')
    assert.equal(await page.textContent('#panel-latency h2'), 'Latency of 400 root calls')
    await page.click('#tab-traces')
    assert.equal(await page.textContent('#panel-traces h2'), '2 traced slow calls of 2 requested')
    assert.deepEqual(
      new Set(await names('#list-traces-0')),
      new Set(['fix.Slow.serve', 'fix.Slow.reload', 'fix.Slow.lookUp']),
    )
  })

  it('a link to a second of the timeline opens the page at this second', async () => {
    await page.click('#tab-timeline')
    await page.focus('#panel-timeline .timeline')
    await page.keyboard.press('End')
    const text = await page.textContent('#timeline-second')
    await page.keyboard.press('l')
    const link = await page.inputValue('#link-text')
    assert.match(link, /^p\.html#tab=timeline&at=/)
    await page.reload()
    await page.waitForSelector('body[data-ready]')
    assert.equal(await page.textContent('#timeline-second'), text)
  })

  it.each(['b', 'adaptive'])(
    'a range in a recording with scheme %s has the contexts of the report of this range',
    async (scheme) => {
      const classes = await compileFixture(jdk, 'Shift')
      const java = startJava(jdk, ['-cp', classes, 'fix.Shift'])
      await java.line(/^ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Shift.serve', '--scheme', scheme)
      await recording.started
      java.send('early 7000')
      await java.line(/^done/, 1)
      java.send('late 6000')
      await java.line(/^done/, 2)
      await recording.stop()
      const file = join(temporaryDirectory('jfluid-html-'), 'ranges.html')
      await jfluid('export', recording.file, '--out', file)
      const { stdout } = await jfluid('export', recording.file, '--format', 'json', '--from', '11s')
      const { merged, rootCalls } = JSON.parse(stdout) as JsonProfile
      await page.goto(`file://${file}#tab=tree&range=11-20`)
      await page.waitForSelector('body[data-ready]')
      assert.match(
        (await page.textContent('#range-text'))!,
        // A segment also ends when the set of timed methods changes.
        /^1[01](?:\.\d+)? s to 1\d\.\d+ s of 1\d\.\d+ s \(rounded to segments of 5 s\)/,
      )
      const methods = new Set(
        Array.from(allNodes(merged), ({ class: owner, method }) => `${owner}.${method}`),
      )
      assert.ok(methods.has('fix.Shift.late') && methods.has('fix.Shift.spin'), [...methods].join())
      assert.ok(!methods.has('fix.Shift.early'))
      const shown = await names('#panel-tree')
      assert.deepEqual(new Set(shown), methods)
      await page.click('#tab-latency')
      const calls = rootCalls!.count.toLocaleString('en')
      assert.equal(await page.textContent('#title-latency-0'), `Latency of ${calls} root calls in the range`)
      await page.click('#range-end')
      await page.locator('#range').waitFor({ state: 'hidden' })
    },
    60_000,
  )
})

function* allNodes(nodes: readonly JsonNode[]): Generator<JsonNode> {
  for (const node of nodes) {
    yield node
    yield* allNodes(node.children)
  }
}
