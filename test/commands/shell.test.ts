// Completion, examples and the manual page are generated from the table of the command line.

import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { EXAMPLES } from '../../src/commands/examples.ts'
import { commandLine } from '../../src/commands/program.ts'
import { shownCommands, shownOptions } from '../../src/commands/shell/command-line.ts'
import { complete, type Known } from '../../src/commands/shell/complete.ts'
import { manual } from '../../src/commands/shell/manual.ts'
import { SCRIPTS, SHELLS } from '../../src/commands/shell/scripts.ts'
import { attributeOf, longOf } from '../../src/options/option.ts'
import { inProcess } from '../support/in-process.ts'
import { inBash } from './shells.ts'

const program = commandLine('1.2.3')
const names = shownCommands(program).map((it) => it.name())

/** Returns the parser, with commands that do nothing. */
function parser(): Command {
  const program = commandLine('1.2.3')
  for (const command of program.commands) {
    command.action(() => {}).exitOverride()
    command.configureOutput({ writeErr: () => {} })
  }
  return program
}

const KNOWN: Known = {
  pid: async () => [
    { value: '4711', says: 'shop.Main' },
    { value: '47', says: 'other.Main' },
    { value: '815', says: 'third.Main' },
  ],
  format: async () => [{ value: 'json', says: 'everything' }],
}

async function candidates(line: string): Promise<string[]> {
  const { candidates, files } = await complete(program, line.split(' '), KNOWN)
  return [...candidates.map(({ value }) => value), ...(files === 'none' ? [] : [`files ${files}`])]
}

describe('shell completion', () => {
  it('shell completion offers commands', async () => {
    expect(await candidates('')).toEqual([...names, '--help', '--version'])
    expect(await candidates('rec')).toEqual(['record'])
    expect(await candidates('help rec')).toEqual(['record'])
    expect(await candidates('nothing ')).toEqual([])
  })

  it('shell completion offers process ids where the command expects a process id', async () => {
    expect(await candidates('attach 4')).toEqual(['4711', '47'])
    expect(await candidates('attach --root A.b 4')).toEqual(['4711', '47'])
    expect(await candidates('attach 4711 ')).toEqual([])
    expect(await candidates('attach --root 4')).toEqual([])
  })

  it('shell completion omits options that are already given, except repeatable options', async () => {
    expect(await candidates('attach 4711 --ro')).toEqual(['--root'])
    expect(await candidates('attach 4711 --root A.b --ro')).toEqual(['--root'])
    expect(await candidates('attach 4711 --sch')).toEqual(['--scheme'])
    expect(await candidates('attach 4711 --scheme a --sch')).toEqual([])
    expect(await candidates('attach 4711 -r A.b --he')).toEqual(['--help'])
  })

  it('shell completion offers option values', async () => {
    expect(await candidates('record 1 --mode co')).toEqual(['count'])
    expect(await candidates('record 1 --mode=co')).toEqual(['--mode=count'])
    expect(await candidates('record 1 --scheme ')).toEqual(['auto', 'a', 'b', 'adaptive'])
    expect(await candidates('record 1 --bba p')).toEqual(['precise', 'files all'])
    expect(await candidates('export p.jfluid --format ')).toEqual(['json'])
    expect(await candidates('completion ')).toEqual([...SHELLS])
  })

  it('shell completion offers files with the expected file name extension', async () => {
    expect(await candidates('report ')).toEqual(['files .jfluid'])
    expect(await candidates('record 1 --out ')).toEqual(['files all'])
    expect(await candidates('record 1 --profiler ')).toEqual(['files .jar'])
    expect(await candidates('gate a.jfluid ')).toEqual(['files .jfluid'])
    expect(await candidates('run --root A.b -- ja')).toEqual(['files command'])
  })

  it('the option parser accepts every value that shell completion offers', async () => {
    for (const shown of shownCommands(program)) {
      const name = shown.name()
      for (const row of shownOptions(shown)) {
        for (const choice of row.value?.choices ?? []) {
          const command = parser().commands.find((it) => it.name() === name)!
          for (const option of command.options) option.mandatory = false
          for (const argument of command.registeredArguments) argument.required = false
          await command.parseAsync([longOf(row), choice], { from: 'user' })
          expect(command.opts()[attributeOf(row)], `${name} ${longOf(row)}`).toBe(choice)
        }
      }
    }
  })
})

it('bash completes options, values and files', async () => {
  const { stdout: script } = await inProcess('completion', 'bash')
  expect(inBash(script, 'attach', '--ro')).toEqual(['--root'])
  expect(inBash(script, 'record', '1', '--mode', '=', 'b')).toEqual(['bytecodes'])
  expect(inBash(script, 'report', '').sort()).toEqual(['p.jfluid', 'with blank.jfluid'])
  expect(inBash(script, 'record', '1', '--out', 'with')).toEqual(['with blank.jfluid'])
})

it.each(SHELLS)('the completion script for %s calls jfluid __complete', (shell) => {
  expect(SCRIPTS[shell]).toContain('__complete')
})

describe('usage examples in the help', () => {
  it('every command has usage examples', () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual([...names].sort())
  })

  const all = Object.values(EXAMPLES).flatMap((examples) => examples.map(({ line }) => line))
  it.each(all)('the option parser accepts the usage example jfluid %s', async (line) => {
    const [own = ''] = line.split(/ [|>] (?=[^']*(?:'[^']*'[^']*)*$)/) // not in quotes
    const words = [...own.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word)
    await parser().parseAsync(words, { from: 'user' })
  })

  it.each(names)('jfluid %s --help shows the usage examples of the command', async (name) => {
    const { stdout } = await inProcess(name, '--help')
    for (const { line } of EXAMPLES[name]!) expect(stdout).toContain(`  jfluid ${line}`)
  })
})

describe('the manual page', () => {
  const page = manual(program, '1.2.3')

  it('the manual page lists all commands and options', () => {
    for (const command of shownCommands(program)) {
      expect(page).toContain(`.SS ${command.name()}\n`)
      for (const row of shownOptions(command))
        expect(page).toContain(`\\fB${longOf(row).replaceAll('-', '\\-')}\\fR`)
    }
  })

  it('the manual page contains no accidental roff macro', () => {
    const macros = /^\.(TH|SH|SS|TP|PP|RS|RE|EX|EE|B|I|BR|br)\b/
    for (const line of page.split('\n')) if (/^[.']/.test(line)) expect(line).toMatch(macros)
  })
})
