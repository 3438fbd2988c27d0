// The page with the source lines of a method.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { LineSamples } from '../../src/cct/line-samples.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { SourceFolders } from '../../src/profile/source-folders.ts'
import type { MethodPlace } from '../../src/profile/source-lines.ts'
import { LiveView } from '../../src/tui/app.ts'
import { fileSource } from '../../src/tui/file-source.ts'
import type { LiveSource } from '../../src/tui/live-source.ts'
import { Methods, profileOf, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const SHOP = `package com.acme;

/** An order.\tWith a tab. */
class Order {
	static double total(int items) {
		double sum = cheap(items);
		sum += dear(items); // the dear call
		return sum;
	}

	static double dear(int n) {
		double sum = 0;
		for (int i = 1; i < n; i++) sum += Math.sqrt(sum + i) / i; // the hot loop, in a line that is too long
		return sum;
	}
}
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'jfluid-source-page-'))
  mkdirSync(join(folder, 'com/acme'), { recursive: true })
  writeFileSync(join(folder, 'com/acme/Order.java'), SHOP)
  changedAt(0)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Sets the time of the last change of the source file, in seconds since 1970. */
function changedAt(seconds: number): void {
  utimesSync(join(folder, 'com/acme/Order.java'), seconds, seconds)
}

/** Returns the source folder. The page calls it `src`, since the length of its real path differs between machines. */
async function sourceFolder(): Promise<SourceFolders> {
  const sources = await SourceFolders.open([folder])
  const find = sources.find.bind(sources)
  sources.find = async (...of) => {
    const found = await find(...of)
    return found === null ? null : { ...found, path: found.path.replace(folder, 'src') }
  }
  return sources
}

const [TOTAL, DEAR, CHEAP] = [1, 2, 3] as const

/** A file of 100 samples, with lines. */
function sampledProfile(): Profile {
  const lines = new LineSamples()
  for (let i = 0; i < 90; i++) lines.add([TOTAL, DEAR], [7, 13])
  for (let i = 0; i < 8; i++) lines.add([TOTAL, DEAR], [7, 12])
  for (let i = 0; i < 2; i++) lines.add([TOTAL, CHEAP], [6, 0])
  const profile = profileOf('Order.total 1x 0ns ( Order.dear 1x 98ns Order.cheap 1x 2ns )')
  return decodeProfile(encodeProfile({ ...profile, lines: lines.table() }), 'p')
}

async function opened(source: LiveSource): Promise<FakeScreen> {
  const screen = new FakeScreen(80, 24)
  const view = new LiveView(source, screen)
  await view.refresh()
  return screen
}

/** Opens the page of the selected row, and returns its lines. */
async function page(screen: FakeScreen, keys: string): Promise<string> {
  screen.press(keys)
  await expect.poll(() => screen.text).not.toContain('Reading the source')
  return screen.text.split('\n').slice(3, -2).join('\n').trimEnd().replaceAll(folder, 'src')
}

describe('the source lines of a method in a file of samples', () => {
  beforeEach(() => changedAt(0))

  it('with --source, the source page shows the text of the method and the share of each line', async () => {
    const screen = await opened(fileSource(sampledProfile(), 'p', undefined, await sourceFolder()))
    expect(await page(screen, 't v')).toMatchInlineSnapshot(`
      " com.acme.Order.total(int)
       src/com/acme/Order.java:5-7
       shares of the 100 samples of this method, in all contexts and threads
        self  total   line  source
                         2
                         3  /** An order.   With a tab. */
                         4  class Order {
                         5      static double total(int items) {
         0.0    2.0      6          double sum = cheap(items);
         0.0   98.0      7          sum += dear(items); // the dear call
                         8          return sum;
                         9      }
                        10"
    `)
    expect(await page(screen, 'v down v')).toMatchInlineSnapshot(`
      " com.acme.Order.dear(int)
       src/com/acme/Order.java:11-13
       shares of the 98 samples of this method, in all contexts and threads
        self  total   line  source
                         8          return sum;
                         9      }
                        10
                        11      static double dear(int n) {
         8.2    8.2     12          double sum = 0;
        91.8   91.8     13          for (int i = 1; i < n; i++) sum += Math.sqrt(sum +
                        14          return sum;
                        15      }
                        16  }"
    `)
    expect(screen.widest).toBeLessThanOrEqual(80)
    screen.press('escape')
    expect(screen.text).toContain('% root')
  })

  it('without --source, the source page lists the numbers of the sampled lines, highest share first', async () => {
    const screen = await opened(fileSource(sampledProfile(), 'p'))
    expect(await page(screen, 'm v')).toMatchInlineSnapshot(`
      " com.acme.Order.dear(int)
       class com.acme.Order, sampled lines 12-13
       shares of the 98 samples of this method, in all contexts and threads
       Use --source <folder> to see the text of these lines.
        self  total   line
        91.8   91.8     13
         8.2    8.2     12"
    `)
  })

  it('if the samples of a method have no line numbers, or there are no samples, the source page shows why shares are missing', async () => {
    const screen = await opened(fileSource(sampledProfile(), 'p'))
    expect(await page(screen, 't down down v')).toMatchInlineSnapshot(`
      " com.acme.Order.cheap(int)
       class com.acme.Order, lines not known
       no shares: its samples have no line numbers
       Use --source <folder> to see the text of these lines."
    `)
    const plain = await opened(fileSource(profileOf('Order.total 1x 0ns'), 'p'))
    expect(await page(plain, 'v')).toContain('no shares: this file has no samples with lines')
  })

  it('the source page reports a source file that was not read because it is a link to a file outside the folder', async () => {
    const linked = mkdtempSync(join(tmpdir(), 'jfluid-source-linked-'))
    onTestFinished(() => rmSync(linked, { recursive: true, force: true }))
    symlinkSync(join(folder, 'com'), join(linked, 'com'))
    const screen = await opened(
      fileSource(sampledProfile(), 'p', undefined, await SourceFolders.open([linked])),
    )
    const shown = (await page(screen, 'm v')).replace(/\s+/g, ' ')
    expect(shown).toContain('Order.java was not read: it leads to a file outside of the folder.')
  })

  it('the source page reports a source file that was changed between the start of the JVM and the recording', async () => {
    const profile = { ...sampledProfile(), jvmStartedAt: '2026-11-20T08:00:00.000Z' }
    const read = decodeProfile(encodeProfile(profile), 'p')
    expect(read.startedAt).toBe('2026-11-21T08:00:00.000Z')
    changedAt(Date.parse('2026-11-20T09:00:00.000Z') / 1000)
    const folders = await sourceFolder()
    expect(await page(await opened(fileSource(read, 'p', undefined, folders)), 'm v')).toContain(
      'src/com/acme/Order.java was changed after the JVM started',
    )
    changedAt(Date.parse('2026-11-20T07:00:00.000Z') / 1000)
    expect(await page(await opened(fileSource(read, 'p', undefined, folders)), 'm v')).not.toContain(
      'was changed',
    )
  })

  it('the source page reports a source file that was changed after the recording began, or that has too few lines', async () => {
    changedAt(Date.now() / 1000)
    const folders = await sourceFolder()
    const screen = await opened(fileSource(sampledProfile(), 'p', undefined, folders))
    expect(await page(screen, 'm v')).toMatch(
      /src\/com\/acme\/Order\.java was changed after the recording began/,
    )
    const lines = new LineSamples()
    lines.add([TOTAL], [99])
    const other = { ...profileOf('Order.total 1x 0ns'), lines: lines.table() }
    expect(await page(await opened(fileSource(other, 'p', undefined, folders)), 'v')).toMatchInlineSnapshot(`
      " com.acme.Order.total(int)
       class com.acme.Order, sampled lines 99
       shares of the 1 sample of this method, in all contexts and threads
       src/com/acme/Order.java has 17 lines, and the class has code on line 99: it is
       another version of the source
        self  total   line
       100.0  100.0     99"
    `)
  })

  it('if the source file of a class is not found, the source page names the searched folders', async () => {
    const folders = await sourceFolder()
    const screen = await opened(fileSource(profileOf('Other.run 1x 0ns'), 'p', undefined, folders))
    expect(await page(screen, 'v')).toMatch(/No source file of com\.acme\.Other in\s+src\./)
  })

  it('the key v on a row of a package shows a hint and no source lines', async () => {
    const screen = await opened(fileSource(sampledProfile(), 'p'))
    screen.press('P v')
    expect(screen.text).toContain('this row is not a method; press P or t to show methods')
  })
})

describe('the source lines of a method in a session', () => {
  async function live(place: () => Promise<MethodPlace | null>, more: Partial<LiveSource> = {}) {
    const methods = new Methods()
    const source = new FakeSource(methods, treeOf('Order.total 1x 5ns ( Order.dear 1x 98ns )', methods))
    return await opened(Object.assign(source, { placeOf: place, ...more }))
  }

  it('the name of the source file and the line numbers of the method are read from the class file', async () => {
    const screen = await live(async () => ({ file: 'Shop.java', lines: { from: 5, to: 9 } }))
    expect(await page(screen, 'v')).toMatchInlineSnapshot(`
      " com.acme.Order.total(int)
       Shop.java:5-9
       no shares: they need samples (--scheme adaptive or --mode sample)
       Use --source <folder> to see the text of these lines."
    `)
  })

  it('the shares of lines are updated with new samples while the source page is open', async () => {
    const lines = new LineSamples()
    lines.add([TOTAL], [6])
    const screen = await live(async () => null, { linesOf: (id) => lines.of(id) })
    expect(await page(screen, 'v')).toMatch(/100\.0 {2}100\.0 {6}6$/)
    for (let i = 0; i < 3; i++) lines.add([TOTAL], [7])
    screen.press('down')
    expect(screen.text).toMatch(/75\.0 {3}75\.0 {6}7\n +25\.0 {3}25\.0 {6}6\n/)
  })

  it('if the class file cannot be read, the source page shows the other data, and a message states the reason', async () => {
    const screen = await live(() => Promise.reject(new Error('the connection to the JVM was lost')))
    expect(await page(screen, 'v')).toContain('class com.acme.Order, lines not known')
    expect(screen.text).toContain('the connection to the JVM was lost')
  })

  it('the source page of a long method is scrolled to the line with the highest share', async () => {
    const lines = new LineSamples()
    for (let line = 1; line <= 60; line++) lines.add([TOTAL], [line], line === 45 ? 100 : 1)
    const long = Array.from({ length: 80 }, (_, i) => `  statement${i + 1}();`)
    const sources = await SourceFolders.open([folder])
    sources.find = async () => ({ path: 'Order.java', lines: long, changedAt: 0 })
    const screen = await live(async () => ({ file: null, lines: { from: 1, to: 70 } }), {
      linesOf: (id) => lines.of(id),
      sources,
    })
    expect(await page(screen, 'v')).toMatch(/62\.9 {3}62\.9 {5}45 {2}statement45\(\);/)
  })
})
