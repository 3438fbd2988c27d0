// Every option that takes a value gets an invalid value. The tests check the message, and that nothing is changed.

import { describe, expect, it } from 'vitest'
import { commandLine } from '../../src/commands/program.ts'
import { shownCommands, shownOptions } from '../../src/commands/shell/command-line.ts'
import { argumentOf, longOf } from '../../src/options/option.ts'
import { inProcess } from '../support/in-process.ts'

/** A process id that cannot exist (PID_MAX_LIMIT is 2^22). A command that accepts its options fails with 68 here. */
const NOBODY = '2147483646'

/** Invalid values, and options that are required for a check of the value, keyed by option. */
const BAD: { readonly [option: string]: { readonly values: readonly string[]; readonly with?: string[] } } = {
  '--root': { values: ['', 'work', 'A.b(', 'A..b', 'A.b)'] },
  '--region': { values: ['', 'A.b:x', 'A.b:9-3', 'A.b:0-3'] },
  '--mode': { values: ['', 'exactly', '1'] },
  '--bba': { values: ['', 'no/such/module.mjs'], with: ['--mode', 'bytecodes'] },
  '--every': { values: ['', '0ms', '1', '-1ms', '10bcs', '1h'], with: ['--mode', 'sample'] },
  '--sampler': { values: ['', 'perf'] },
  '--random': { values: ['', '-1', '1.5', 'x'], with: ['--mode', 'sample', '--every', '100bc'] },
  '--sample-every': { values: ['', '0', '-1', '1.5', '1000000'], with: ['--mode', 'alloc'] },
  '--scheme': { values: ['', 'c'] },
  '--include': { values: ['', '*.*.', 'a..b'] },
  '--time': { values: ['', 'work', 'A.b(', 'A..b', 'A.b)'], with: ['--scheme', 'adaptive'] },
  '--exclude': { values: ['', '*.*.', 'a..b'] },
  '--max-overhead': { values: ['', '0%', '-1%', '5 apples'] },
  '--duration': { values: ['', '0s', '-1s', '10', '1 s'] },
  '--all': { values: ['', ' '] },
  '--wait-for': { values: ['', ' '] },
  '--repeat': { values: ['', '0s', '-1s', '10', 'daily'] },
  '--jvm': { values: ['', ' '] },
  '--wait-timeout': { values: ['', '0s', 'soon'] },
  '--autosave': { values: ['', '0s', 'often'] },
  '--tolerance': { values: ['', '-1%', 'little'] },
  '--top': { values: ['', '-1', '1.5', 'all'] },
  '--format': { values: ['', 'pdf'] },
  '--slow': { values: ['', '0ms', 'slow', 'p50'] },
  '--show': { values: ['', 'tenant', 'arg', 'arg0.', 'arg0.get(1)', 'arg0.a.b.c.d.e'] },
  '--by': { values: ['', 'return', 'thrown.detailMessage', 'arg255'] },
  '--trace': { values: ['', '-1', '1.5', 'all'] },
  '--max-contexts': { values: ['', '0', '999', '1e6', '16777217'] },
  '--jdwp': { values: ['', 'host', 'host:', '0', '65536', 'a:b:1', '::1:5005', '*:5005', 'a b:1'] },
  '--push': { values: ['', 'host:4040', 'ftp://host', 'http://user:password@host'] },
  '--to': { values: ['', 'host:4040', 'ftp://host', 'http://user:password@host'] },
  '--label': { values: ['', 'a', '=b', 'a=b,c', '__name__=x'], with: ['--push', 'http://127.0.0.1:9'] },
  '--listen': { values: ['', 'host:7071', '65536', '1.2.3.4', ':1'] },
  '--grace': { values: ['', '0s', '10', 'long'], with: ['--stdio'] },
  '--source': { values: ['', 'no-such-folder'] },
  '--from': { values: ['', '-1s', '10', 'start'] },
  '--until': { values: ['', '-1s', '10', 'end'], with: ['--to', 'http://127.0.0.1:9'] },
  '--fail-if': { values: ['', 'more', 'A.b self > many'] },
}

/** Any text is a valid file or method name. An error in it appears when jfluid looks for the file or method. */
const FREE = [
  '--out',
  '--record',
  '--profiler',
  '--html',
  '--back-traces',
  '--key-file',
  '--before',
  '--after',
]

const rows = shownCommands(commandLine('1.2.3')).map((command) => ({
  name: command.name(),
  options: shownOptions(command).map((row) => ({ long: longOf(row), value: argumentOf(row) })),
}))
const cases = rows.flatMap(({ name, options }) =>
  options
    .filter(({ value, long }) => value !== undefined && !FREE.includes(long))
    .map(({ long }) => ({ name, long })),
)

it('the table of invalid values in this test covers every option that takes a value', () => {
  expect(cases.map(({ long }) => long).filter((long) => !(long in BAD))).toEqual([])
})

/** Returns the rest of the command line, complete except for the tested option. */
function before(name: string, long: string): string[] {
  const files = { compare: ['a.jfluid', 'b.jfluid'], gate: ['a.jfluid', 'b.jfluid'] }[name]
  if (files !== undefined) return [name, ...files]
  if (['report', 'export', 'open'].includes(name)) return [name, 'no-such.jfluid']
  if (name === 'push') {
    return [name, 'no-such.jfluid', ...(long === '--to' ? [] : ['--to', 'http://127.0.0.1:9'])]
  }
  const root = ['--root', '--region', '--sampler'].includes(long) ? [] : ['--root', 'A.b']
  if (name === 'run') return [name, ...root]
  if (name === 'proxy') return [name]
  if (name === 'why') return [name, NOBODY]
  return [name, NOBODY, ...root, ...(name === 'record' ? ['--out', 'p.jfluid'] : [])]
}

describe.each(rows.map(({ name }) => name).filter((name) => cases.some((it) => it.name === name)))(
  'invalid option values of jfluid %s',
  (name) => {
    const own = cases.filter((it) => it.name === name && it.long in BAD)
    it.each(own)('option $long refuses each of its invalid values', async ({ long }) => {
      const { values, with: needed = [] } = BAD[long]!
      // `push` needs no further option: the options of the table are for --push, and `before` already adds --to.
      const own = name === 'push' ? [] : needed
      const present = own.filter((it) => it.startsWith('--')).every((it) => has(name, it))
      if (!present) return
      const program = name === 'run' ? ['--', 'no-such-program'] : []
      for (const value of values) {
        const line = [...before(name, long), ...own, `${long}=${value}`, ...program]
        const { code, stdout, stderr } = await inProcess(...line)
        const told = `jfluid ${line.join(' ')}\n${stderr}`
        expect([64, 66], told).toContain(code)
        expect(stdout, told).toBe('')
        expect(stderr, told).toMatch(/^jfluid: /)
        expect(stderr, told).not.toMatch(/no process|no-such\.jfluid|no-such-program|internal error|^ +at /m)
      }
    })
  },
)

function has(name: string, option: string): boolean {
  return rows.some((row) => row.name === name && row.options.some(({ long }) => long === option))
}
