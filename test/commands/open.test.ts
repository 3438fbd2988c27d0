// Options of jfluid open that do not fit the content of the file.

import { expect, it } from 'vitest'
import { NoSourceOfRegions, openedSource } from '../../src/commands/open.ts'
import { SourceFolders } from '../../src/profile/source-folders.ts'
import { REGION } from '../profile/region.ts'
import { profileOf } from '../profile/trees.ts'

it('--source is refused for a file of regions, whose view shows no source lines', async () => {
  const sources = await SourceFolders.open(['src'])
  const calls = profileOf('main 1x 1ns')
  const regions = { ...calls, regions: [REGION] }
  await expect(openedSource(regions, 'r.jfluid').drawn(sources)).rejects.toThrow(NoSourceOfRegions)
  await expect(openedSource(regions, 'r.jfluid').drawn()).resolves.toBeTypeOf('function')
  await expect(openedSource(calls, 'c.jfluid').drawn(sources)).resolves.toBeTypeOf('function')
})
