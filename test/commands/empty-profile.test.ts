// Commands that read a profile in which nothing was recorded: the reason, the next step, and an exit code that is not 0.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { formats } from '../../src/export/formats.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { profileOf } from '../profile/trees.ts'
import { inProcess } from '../support/in-process.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const directory = temporaryDirectory()
const empty = join(directory, 'empty.jfluid')

beforeAll(async () => {
  await writeProfile(profileOf('', { warnings: ['no root was called'] }), empty)
})

it.each([[[]], [['--json']]])(
  'report %j prints that the profile is empty, and ends with an error',
  async (flags) => {
    const { code, stdout, stderr } = await inProcess('report', empty, ...flags)
    expect(code).toBe(65)
    expect(stdout).toContain('no root was called')
    expect(stderr).toBe(
      `jfluid: nothing to report: ${empty} is empty, because no root was called\n` +
        '  Record again while the program does the work; the warnings above may name another cause.\n',
    )
  },
)

it.each(formats.filter((it) => it.needsTrace !== true).map((it) => it.name))(
  'export --format %s of an empty profile writes no file and ends with an error',
  async (format) => {
    const out = join(directory, `out.${format}`)
    const { code, stdout, stderr } = await inProcess('export', empty, '--format', format, '--out', out)
    expect([code, stdout, existsSync(out)]).toEqual([65, '', false])
    expect(stderr).toMatch(
      /^jfluid: nothing to export: .* is empty, because no root was called\n {2}Record again /,
    )
  },
)
