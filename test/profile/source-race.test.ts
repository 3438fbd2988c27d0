// A directory of --source that is replaced by a link while a source file is opened.

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { SourceFolders } from '../../src/profile/source-folders.ts'

/** Called between the check of a path and the opening of its file. */
const between = vi.hoisted(() => ({ run: (): void => {} }))

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  const open: typeof real.open = async (...of) => {
    between.run()
    return await real.open(...of)
  }
  return { ...real, open }
})

it.runIf(process.platform === 'linux')(
  'a file outside the folder is not read if a directory becomes a link after the check of its path',
  async () => {
    const top = mkdtempSync(join(tmpdir(), 'jfluid-source-race-'))
    onTestFinished(() => rmSync(top, { recursive: true, force: true }))
    for (const [folder, text] of [
      ['inside/shop', 'class Order {}'],
      ['secret', 'secret'],
    ] as const) {
      mkdirSync(join(top, folder), { recursive: true })
      writeFileSync(join(top, folder, 'Order.java'), text)
    }
    const folders = await SourceFolders.open([join(top, 'inside')])
    expect((await folders.find('shop.Order', 'Order.java'))?.lines).toEqual(['class Order {}'])
    between.run = () => {
      between.run = () => {}
      renameSync(join(top, 'inside/shop'), join(top, 'moved'))
      symlinkSync(join(top, 'secret'), join(top, 'inside/shop'))
    }
    const refused: string[] = []
    expect(await folders.find('shop.Order', 'Order.java', (path) => refused.push(path))).toBeNull()
    expect(refused[0]).toBe(join(top, 'inside/shop/Order.java'))
  },
)
