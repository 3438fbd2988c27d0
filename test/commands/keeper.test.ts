import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { fileKeeper } from '../../src/commands/keeper.ts'
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
})
