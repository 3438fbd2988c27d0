// What is told as a command can be copied into a shell, whatever files are called.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { shellWord } from '../../src/base/shell-word.ts'
import { outcome } from '../../src/commands/outcome.ts'
import { ProfileOnlyAutosaved, ProfilePutElsewhere } from '../../src/commands/place.ts'
import { NoTreeInProfile } from '../../src/export/errors.ts'
import { CannotWriteProfile } from '../../src/profile/errors.ts'
import { OldRootsAgain } from '../../src/session/changed-roots.ts'

it.each(['p.jfluid', '/a/b c.jfluid', "it's.jfluid", '$HOME/*.jfluid', 'a;b', ''])(
  '%s is one word',
  (text) => {
    const printed = execFileSync('sh', ['-c', `printf '%s\\n' ${shellWord(text)}`], { encoding: 'utf8' })
    expect(printed).toBe(`${text}\n`)
  },
)

it('hints quote a path with blanks', () => {
  const path = '/my files/p.jfluid'
  const problem = new CannotWriteProfile(path, 'ENOSPC')
  const gone = {
    pid: 1,
    ending: { how: 'target ended' as const },
    rootReport: () => [],
    filterReport: () => [],
  }
  const hints = [
    new OldRootsAgain(new Error('no room'), path),
    new ProfilePutElsewhere(problem, path),
    new ProfileOnlyAutosaved(problem, path),
    new NoTreeInProfile(path, 'csv'),
    outcome(gone, null, path),
  ].map((it) => it?.hint)
  for (const hint of hints) expect(hint).toContain("jfluid report '/my files/p.jfluid'")
})

it('no command with a file is told without', () => {
  const folder = join(import.meta.dirname, '../../src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((it) => it.endsWith('.ts'))
  const commands = files.flatMap((file) => [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/jfluid (?:report|open|export|compare) (\$\{\w+)/g),
  ])
  expect(new Set(commands.map((it) => it[1]))).toEqual(new Set(['$' + '{shellWord']))
})
