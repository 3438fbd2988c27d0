// Options that only a whole recording has, beside --from and --to.

import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { exportCommand } from '../../src/commands/export.ts'
import { openedSource } from '../../src/commands/open.ts'
import { report } from '../../src/commands/report.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { NotOfRange, ofRange } from '../../src/profile/range.ts'
import { SourceFolders } from '../../src/profile/source-folders.ts'
import { recorded } from '../profile/recorded-segments.ts'
import { temporaryDirectory } from '../support/java-process.ts'

describe('with a time range', () => {
  const file = join(temporaryDirectory(), 'app.jfluid')
  beforeAll(() => writeProfile(recorded(), file))
  const message = 'cannot be used with a time range'

  it('report refuses --trace', async () => {
    const refused = report(file, { top: 10, trace: 1, from: 5000 })
    await expect(refused).rejects.toThrow(NotOfRange)
    await expect(refused).rejects.toThrow(`--trace ${message}: traced calls are of the whole recording`)
  })

  it('export refuses a format of traced calls', async () => {
    const out = join(temporaryDirectory(), 'part.json')
    const refused = exportCommand(file, { format: 'trace-events', out, to: 5000 })
    await expect(refused).rejects.toThrow(`--format trace-events ${message}`)
  })

  it('open refuses --source', async () => {
    const sources = await SourceFolders.open(['src'])
    const part = ofRange(recorded(), { fromMs: 5000 }, file)
    await expect(openedSource(part, file).drawn(sources)).rejects.toThrow(`--source ${message}`)
    await expect(openedSource(recorded(), file).drawn(sources)).resolves.toBeTypeOf('function')
  })
})
