// Complete screens of each view, in three sizes, with and without UTF-8, stored in golden/. After an intended change,
// JFLUID_WRITE_GOLDEN=1 writes them again; review the difference. The line of keys is
// not included: it has its own tests, and changes with each new key.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { LiveView } from '../../src/tui/app.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

// Long and wide names, recursion, a leaf whose time is below its error, seconds and nanoseconds, many small callees.
const SHOP = `com.acme.shop.OrderService.process 1200x 9300000ns (
  com.acme.shop.pricing.PriceCalculator.priceOf 3600x 1400000000ns (
    com.acme.shop.cache.Cache.get 12345678x 360000000ns
    com.acme.shop.pricing.rules.VeryLongRuleNameThatNobodyWouldEverWriteByHand$Builder$Nested.applyAllOfTheRules 3600x 44000000ns )
  com.acme.db.JdbcOrderRepository.save 1200x 810000000ns (
    com.acme.db.ConnectionPool.borrow 1200x 220000000ns ( java.util.concurrent.Semaphore.acquire 1200x 190000000ns )
    com.acme.db.Statement.execute 2400x 150000000ns )
  com.acme.shop.Category.walk 1x 5000000ns (
    com.acme.shop.Category.walk 2x 10000000ns ( com.acme.shop.Category.walk 4x 20000000ns ( com.acme.shop.Category.walk 8x 40000000ns ) ) )
  日本.商店.注文サービス.処理する 42x 123456789ns ( 日本.商店.在庫.数える 84x 23456789ns )
  com.acme.shop.Lambda$Runner/0x00007f12.run 10x 700ns
  com.acme.shop.Call.hit 900x 9ns
  com.acme.log.Log.debug 40000x -3000ns
  com.acme.log.Log.trace 4x 900000ns com.acme.log.Log.info 4x 800000ns com.acme.log.Log.warn 4x 700000ns )`

/** Keys that open each view, keyed by file name. */
const SCREENS: Readonly<Record<string, string>> = {
  tree: 'down',
  'tree-all': '* down',
  packages: 'P',
  filtered: '* % % %',
  hot: 'm down',
  callers: 'm / w a l k enter c',
  flame: 'f down',
  'flame-zoomed': 'f down right enter / d b',
}
const SIZES = [
  [80, 24],
  [120, 40],
  [200, 50],
] as const
const FOLDER = new URL('golden/', import.meta.url)
const isWriting = process.env.JFLUID_WRITE_GOLDEN === '1'

async function screenAfter(keys: string, columns: number, rows: number, unicode: boolean) {
  const methods = new Methods()
  const screen = new FakeScreen(columns, rows, unicode)
  const view = new LiveView(new FakeSource(methods, treeOf(SHOP, methods)), screen)
  await view.refresh()
  screen.press(keys)
  return screen
}

describe('the whole screen of each view, compared with a file', () => {
  const names: string[] = []
  for (const [name, keys] of Object.entries(SCREENS)) {
    for (const [columns, rows] of SIZES) {
      for (const unicode of [true, false]) {
        const file = `${name}-${columns}x${rows}${unicode ? '' : '-ascii'}.txt`
        names.push(file)
        it(file, async () => {
          const screen = await screenAfter(keys, columns, rows, unicode)
          assert.equal(screen.lines.length, rows)
          assert.ok(screen.widest <= columns, `${screen.widest} cells`)
          const text = `${screen.text.split('\n').slice(0, -1).join('\n')}\n`
          if (isWriting) writeFileSync(new URL(file, FOLDER), text)
          assert.equal(text, readFileSync(new URL(file, FOLDER), 'utf8'))
        })
      }
    }
  }

  it('the folder golden/ contains a file for each tested screen, and no other file', () => {
    assert.deepEqual(readdirSync(FOLDER).sort(), names.sort())
  })
})
