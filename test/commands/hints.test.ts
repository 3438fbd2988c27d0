// Commands in hints can be copied into a shell for any file name.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { shellWord } from '../../src/base/shell-word.ts'
import { outcome } from '../../src/commands/outcome.ts'
import { ProfileOnlyAutosaved, ProfilePutElsewhere } from '../../src/commands/place.ts'
import { commandLine } from '../../src/commands/program.ts'
import { NoTreeInProfile } from '../../src/export/errors.ts'
import { CannotWriteProfile } from '../../src/profile/errors.ts'
import { OldRootsAgain } from '../../src/session/changed-roots.ts'

it.each(['p.jfluid', '/a/b c.jfluid', "it's.jfluid", '$HOME/*.jfluid', 'a;b', ''])(
  'shell quoting turns the file name %s into one word',
  (text) => {
    const printed = execFileSync('sh', ['-c', `printf '%s\\n' ${shellWord(text)}`], { encoding: 'utf8' })
    expect(printed).toBe(`${text}\n`)
  },
)

it('hints with a command quote a path that contains blanks', () => {
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

/** Returns the first group of each match of the pattern in all source files. */
function told(pattern: RegExp): string[] {
  const folder = join(import.meta.dirname, '../../src')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((it) => it.endsWith('.ts'))
  return files.flatMap((file) => [
    ...[...readFileSync(join(folder, file), 'utf8').matchAll(pattern)].map((it) => it[1]),
  ])
}

it('every hint that prints a command with a file quotes the file name', () => {
  const commands = told(/jfluid (?:report|open|export|compare) (\$\{\w+)/g)
  expect(new Set(commands)).toEqual(new Set(['$' + '{shellWord']))
})

// Matches a command with placeholders such as `<file>`, up to the quote at its end. The user types such a command.
const TO_BE_TYPED = /jfluid ((?:[\w./-]+ |<[^<>]+> )*<[^<>]+>(?: [\w./-]+| <[^<>]+>)*)(?=['`])/g

const typed = told(TO_BE_TYPED)

it('the test finds commands with placeholders in hint texts', () => {
  expect(typed).toContain('push <file> --to <url>')
})

it.each(typed)('the hinted command jfluid %s exists', async (line) => {
  const program = commandLine('1.2.3')
  for (const command of program.commands) {
    command.action(() => {}).exitOverride()
    command.configureOutput({ writeErr: () => {} })
  }
  await program.parseAsync(line.replaceAll(/<[^<>]+>/g, '1').split(' '), { from: 'user' })
})
