import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { fileKeeper } from '../../src/commands/keeper.ts'
import { redacted } from '../../src/profile/values.ts'
import { SNAPSHOT } from '../../src/tui/keeper.ts'
import { profileOf } from '../profile/trees.ts'
import { temporaryDirectory } from '../support/java-process.ts'

describe('saving a profile from a live view', () => {
  it('after saving from a live view, the printed jfluid open command quotes the file name for a shell', async () => {
    const keeper = fileKeeper(profileOf('main 1x 5ns'), 'p.jfluid')
    const folder = temporaryDirectory()
    const [plain, spaced] = [join(folder, 'a.jfluid'), join(folder, "it's mine.jfluid")]
    assert.equal(await keeper.write(SNAPSHOT, plain), `saved: jfluid open ${plain} shows it`)
    assert.equal(
      await keeper.write(SNAPSHOT, spaced),
      `saved: jfluid open '${folder}/it'\\''s mine.jfluid' shows it`,
    )
    assert.ok(existsSync(spaced))
  })

  it('a message says that an exported file contains values of the program', async () => {
    const profile = profileOf('main 1x 5ns')
    const valued = { ...profile, values: { show: [], by: 'arg0.id', dropped: 0 } }
    const file = join(temporaryDirectory(), 'p.html')
    const html = fileKeeper(valued, 'p.jfluid').formats.find(({ name }) => name === 'html')!
    assert.equal(
      await fileKeeper(valued, 'p.jfluid').write(html, file),
      `exported as html to ${file}, with values of the program`,
    )
    assert.equal(await fileKeeper(profile, 'p.jfluid').write(html, file), `exported as html to ${file}`)
    assert.equal(
      await fileKeeper(redacted(valued), 'p.jfluid').write(html, file),
      `exported as html to ${file}`,
    )
  })
})
