// jfluid.config.json: the options it sets for commands, and the options it may not set.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EX_CONFIG, EX_NOPERM, EX_USAGE } from '../../src/base/errors.ts'
import { COMMANDS, longOf } from '../../src/options/option.ts'
import { OPTIONS, optionsOf } from '../../src/options/table.ts'
import { inProcessIn } from '../support/in-process.ts'
import { cli, type Ran } from '../support/jfluid.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'jfluid-config-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const file = () => join(directory, 'jfluid.config.json')
const jfluid = (...args: string[]): Promise<Ran> => inProcessIn({ cwd: directory }, ...args)

function given(options: object | string): void {
  writeFileSync(file(), typeof options === 'string' ? options : JSON.stringify(options))
}

/** Returns the rows printed by --show-config: the option, its value, and its source. */
async function inForce(...args: string[]): Promise<string[][]> {
  const { code, stdout, stderr } = await jfluid(...args, '--show-config')
  expect([code, stderr]).toEqual([0, ''])
  const [, ...lines] = stdout.trimEnd().split('\n')
  return lines.map((line) => line.trim().split(/ {2,}/))
}

const FILE = 'jfluid.config.json'

describe('the file jfluid.config.json', () => {
  it('the configuration file sets options of each command, and the command line overrides these options', async () => {
    given({
      ...{ mode: 'count', duration: '30s', 'max-contexts': 5000, include: ['a.**', 'b.**'] },
      json: true,
      jdk: false,
    })
    expect(await inForce('record', '--mode', 'bytecodes', '-r', 'A.b', '--root', 'C.d')).toEqual([
      ['--root', 'A.b, C.d', 'command line'],
      ['--include', 'a.**, b.**', FILE],
      ['--jdk', 'false', FILE],
      ['--duration', '30s', FILE],
      ['--mode', 'bytecodes', 'command line'],
      ['--scheme', 'auto', 'default'],
      ['--max-contexts', '5000', FILE],
      ['--autosave', '5s', 'default'],
    ])
    expect(await inForce('ps')).toEqual([['--json', 'true', FILE]])
    expect(await inForce('record', '--jdk')).toContainEqual(['--jdk', 'true', 'command line'])
    expect(await inForce('why')).toEqual([
      ['--duration', '30s', FILE],
      ['--top', '5', 'default'],
      ['--json', 'true', FILE],
    ])
  })

  it('an option in the configuration file applies to each command that accepts the option', async () => {
    given({ json: true, 'no-call-sites': true })
    expect(JSON.parse((await jfluid('ps')).stdout)).toMatchObject({ command: 'ps' })
    expect(await inForce('compare')).toContainEqual(['--no-call-sites', 'true', FILE])
  })

  it('--show-config shows the effective options, including defaults that apply and implied values', async () => {
    const defaults = ['--scheme', '--max-overhead', '--max-contexts']
    const namesOf = (rows: readonly string[][]): (string | undefined)[] => rows.map(([name]) => name)
    expect(namesOf(await inForce('record', '-r', 'A.b'))).toEqual(expect.arrayContaining(defaults))
    expect(namesOf(await inForce('record', '-r', 'A.b', '--mode', 'sample'))).toContain('--sampler')
    const allocations = await inForce('record', '-r', 'A.b', '--mode', 'alloc', '--liveness')
    expect(allocations).toContainEqual(['--sample-every', '100', 'implied by --liveness'])
    for (const name of ['--max-overhead', '--random', '--sampler', '--wait-timeout', '--every'])
      expect(namesOf(allocations)).not.toContain(name)
  })

  it('--show-config is refused together with --json on the command line, since it prints text', async () => {
    const { code, stdout, stderr } = await jfluid('why', '--show-config', '--json')
    expect([code, stdout]).toEqual([EX_USAGE, ''])
    expect(stderr).toContain('--show-config cannot be combined with --json: it prints text')
  })

  it('a byte order mark at the start of the configuration file is skipped', async () => {
    given('\ufeff{ "json": true }')
    expect(await inForce('ps')).toEqual([['--json', 'true', FILE]])
  })

  it('--no-config skips the configuration file, even if the file is invalid', async () => {
    given('no JSON')
    expect((await jfluid('ps', '--no-config')).code).toBe(0)
    expect((await jfluid('ps', '--no-config', '--show-config')).stdout).toBe(
      `jfluid ps, effective options (no ${FILE} is read):\n  none\n`,
    )
  })

  it('the error for an invalid option value names the configuration file if the value came from the file', async () => {
    given({ root: 'work', top: 3 })
    const { code, stderr } = await jfluid('record', '1', '--out', 'p')
    expect([code, stderr]).toEqual([
      EX_USAGE,
      expect.stringMatching(
        /^jfluid: cannot read root 'work': .*\n {2}.*\n {2}From jfluid\.config\.json: --root\. --no-config ignores the file\.\n$/,
      ),
    ])
    const without = await jfluid('record', '1', '--out', 'p', '--no-config', '-r', 'work')
    expect(without.stderr).not.toContain(FILE)
  })

  /** Lines about ignored options, printed by a recording without a JVM. */
  const leftOut = async (...args: string[]): Promise<string[]> => {
    const { stderr } = await jfluid('record', ...args, '--out', 'p.jfluid')
    return stderr.split('\n').filter((it) => it.includes('were ignored'))
  }

  it.each([
    ['--trace', { trace: '3' }, ['--mode', 'count']],
    ['--trace', { trace: '3' }, ['--max-overhead', '5%']],
    ['--max-overhead', { 'max-overhead': '5%' }, ['--trace', '3']],
    ['--sampler', { sampler: 'cpu' }, []],
    ['--include', { include: 'a.**' }, ['--mode', 'sample']],
    ['--slow', { slow: 'p99' }, ['--all', 'no.such.Main']],
    // The option on the command line is refused because of the option in the file.
    ['--mode', { mode: 'count' }, ['--trace', '3']],
    ['--scheme', { scheme: 'a' }, ['--max-overhead', '5%']],
    ['--scheme', { scheme: 'adaptive' }, ['--call-sites']],
    ['--scheme', { scheme: 'adaptive' }, ['--mode', 'count']],
    ['--call-sites', { 'call-sites': true }, ['--scheme', 'adaptive']],
    ['--follow-threads', { 'follow-threads': true }, ['--time', 'A.b']],
    ['--region', { region: 'A.b:1-2' }, []],
    ['--all', { all: 'no.such.Main' }, ['--trace', '3']],
    ['--all', { all: 'no.such.Main' }, ['--jdwp', '5005']],
  ])(
    'the option %s of the configuration file %j is ignored, with a note, for command line %j',
    async (option, options, args) => {
      given(options)
      expect(await leftOut('--root', 'A.b', ...args)).toEqual([
        `options of ${FILE} that were ignored: ${option} (add --show-config to see why)`,
      ])
      const { stdout } = await jfluid('record', '--root', 'A.b', ...args, '--show-config')
      expect(stdout).toMatch(new RegExp(`^ignored: ${option}: .+$`, 'm'))
    },
  )

  it.each([
    [{ label: ['a=b'] }, ['1']],
    [{ 'wait-timeout': '3s' }, ['1']],
    [{ 'wait-for': 'Shop' }, ['1']],
    [{ 'wait-for': 'Shop' }, ['--all', 'Shop']],
    [{ all: 'Shop' }, ['--wait-for', 'no.such.Main', '--wait-timeout', '1ms']],
  ])(
    'options of the configuration file %j are ignored, without a note, for command line %j',
    async (options, args) => {
      given(options)
      expect(await leftOut('--root', 'A.b', ...args)).toEqual([])
      const { stdout } = await jfluid('record', '--root', 'A.b', ...args, '--show-config')
      expect(stdout.match(/^ignored: /gm)).toHaveLength(Object.keys(options).length)
    },
  )

  it('an option of the configuration file is ignored only if the option conflicts with an effective option', async () => {
    given({ 'max-overhead': '2%', trace: 3 })
    const adaptive = await inForce('record', '--scheme', 'adaptive', '--root', 'A.b')
    expect(adaptive).toContainEqual(['--max-overhead', '2%', FILE])
    expect(adaptive.flat().join(' ')).toMatch(/ignored: --trace: --trace needs the calls of all methods/)
    given({ all: 'Shop', region: 'A.b' })
    const regions = await inForce('record')
    expect(regions).toContainEqual(['--region', 'A.b', FILE])
    expect(regions.flat().join(' ')).toMatch(/ignored: --all: --all cannot be combined with --region/)
    given({ all: 'Shop', root: 'A.b' })
    expect(await inForce('record')).toEqual(
      expect.arrayContaining([
        ['--all', 'Shop', FILE],
        ['--root', 'A.b', FILE],
      ]),
    )
  })

  it('doctor ignores a root in the configuration file, and report ignores trace in the file', async () => {
    given({ root: 'A.b', trace: 3 })
    expect(await inForce('record')).toContainEqual(['--root', 'A.b', FILE])
    for (const name of ['doctor', 'report']) {
      const { stdout } = await jfluid(name, '--show-config')
      expect(stdout).toMatch(
        /^ignored: --(?:root|trace): for (?:doctor|report) this option works only on the command line$/m,
      )
    }
  })

  it("every command works without a configuration file, and --show-config works without the command's arguments", async () => {
    for (const name of COMMANDS) {
      if (!optionsOf(name).some((it) => it.name === '--show-config')) continue
      const { code, stdout } = await jfluid(name, '--show-config')
      expect([name, code, stdout]).toEqual([
        name,
        0,
        expect.stringContaining(`jfluid ${name}, effective options (no`),
      ])
    }
  })
})

describe('a refused configuration file', () => {
  const refusal = async (options: object | string): Promise<[number | null, string]> => {
    given(options)
    const { code, stdout, stderr } = await jfluid('ps')
    expect(stdout).toBe('')
    return [code, stderr]
  }

  it.each([
    ['no JSON', 'the file is not JSON: '],
    ['[]', 'the file is not a JSON object'],
    ['null', 'the file is not a JSON object'],
    ['"\\u001b[31m"', 'the file is not a JSON object'],
    [{ '\u001b[31mred': 1 }, 'there is no option "'],
    [{ json: 'yes' }, '"json" cannot be "yes": It is true or false.'],
    [{ json: null }, '"json" cannot be null: It is true or false.'],
    [{ constructor: 1 }, 'there is no option "constructor"'],
    [{ session: 'x' }, '"session" can only be given on the command line'],
    [{ listen: '7071' }, '"listen" can only be given on the command line'],
    [
      { 'no-config': true },
      '"no-config" controls the use of this file, so it can only be given on the command line',
    ],
    [{ yes: true }, '"yes" gives consent, so it can only be given on the command line'],
    [{ 'key-file': 'k' }, '"key-file" can only be given on the command line'],
    [{ bba: { toString: 1 } }, '"bba" runs code'],
    [{ 'look-ahead': 3 }, '"look-ahead" was removed: no other number was better'],
    [{ sampler: 'stacks' }, '"sampler": "stacks" was removed: thread dumps'],
  ])('the configuration file %j is refused', async (options, message) => {
    const [code, stderr] = await refusal(options)
    expect([code, stderr]).toEqual([EX_CONFIG, expect.stringContaining(message)])
    expect(stderr).not.toContain('\u001b')
    expect(stderr).toMatch(/^jfluid: jfluid\.config\.json: .*\n {2}.*[.}]\n$/)
  })

  it.each([
    ['max-overhed', 'max-overhead'],
    ['maxOverhead', 'max-overhead'],
    ['--mode', 'mode'],
    ['excludes', 'exclude'],
  ])('the unknown key %s is refused with the most similar valid key', async (key, close) => {
    const [, stderr] = await refusal({ [key]: 1 })
    expect(stderr).toContain(`  Did you mean "${close}"?\n`)
  })

  it.each([
    ['max-overhead', 'much', 'It is a percentage above 0, up to 1000%.'],
    ['mode', 'exactly', 'Allowed choices are exact, locks,'],
    ['include', [1, {}], 'It is text or a number.'],
    ['region', [], 'It has at least one value.'],
    ['autosave', ['1s'], 'It is one value.'],
    ['duration', 'soon', 'Write a number and a unit'],
    ['autosave', 'often', 'Write a number and a unit'],
    ['trace', 0, 'It is how many calls of the root'],
  ])('an invalid value of %s in the configuration file is refused: %j', async (key, value, message) => {
    given({ [key]: value })
    const { code, stderr } = await jfluid('record', '--show-config')
    expect([code, stderr]).toEqual([
      EX_CONFIG,
      expect.stringContaining(`"${key}" cannot be ${JSON.stringify(value)}: ${message}`),
    ])
  })

  const RISKY = {
    ...{
      profiler: 'a.jar',
      bba: './m.mjs',
      push: 'http://h',
      to: 'http://h',
      out: 'p',
      record: 'p',
      output: 'l',
      html: 'h',
      before: ['a.jfluid'],
      after: ['b.jfluid'],
    },
    ...{ jdwp: '5005', yes: true, force: true, 'debug-info': true, tolerance: '50%' },
  }

  it.each(Object.entries(RISKY))(
    'the configuration file refuses a key that runs code, writes files, sends data, holds a secret, or gives consent: %s',
    async (key, value) => {
      const [code, stderr] = await refusal({ [key]: value })
      expect([code, stderr]).toEqual([EX_CONFIG, expect.stringContaining(`"${key}" `)])
    },
  )

  it('the configuration file may name the built-in analyses of --bba and --mode', async () => {
    given({ bba: 'precise', mode: 'bytecodes' })
    expect(await inForce('record')).toContainEqual(['--bba', 'precise', FILE])
  })

  it('the configuration file refuses every option that names a file, an address or code', () => {
    const named = OPTIONS.filter(
      ({ name, commands }) => /<.*(?:file|url|jar|host).*>/.test(name) && !commands.includes('proxy'),
    )
    expect(named.length).toBeGreaterThan(8)
    for (const row of named) expect(Object.keys(RISKY)).toContain(longOf(row).slice(2))
  })

  it('a configuration file owned by another user, or a link to such a file, is refused', async () => {
    const { geteuid } = process
    const own = geteuid!()
    const of = {
      code: EX_NOPERM,
      stderr: expect.stringContaining(`of this directory belongs to user ${own}`),
    }
    writeFileSync(join(directory, 'real.json'), '{"json": true}', { mode: 0o600 })
    try {
      symlinkSync('real.json', file())
      expect(await inForce('ps')).toEqual([['--json', 'true', FILE]])
      process.geteuid = () => own + 1
      expect(await jfluid('ps')).toMatchObject(of)
      rmSync(file())
      given({})
      expect(await jfluid('ps')).toMatchObject(of)
    } finally {
      process.geteuid = geteuid!
    }
  })

  it('a configuration file that other users can write, or a directory with its name, is refused', async () => {
    given({})
    for (const mode of [0o622, 0o606, 0o660]) {
      chmodSync(file(), mode)
      expect(await jfluid('ps'), `${mode}`).toMatchObject({
        code: EX_NOPERM,
        stderr: expect.stringContaining('is writable for other users'),
      })
    }
    rmSync(file())
    mkdirSync(file())
    expect((await jfluid('ps')).code).toBe(EX_CONFIG)
    rmSync(file(), { recursive: true })
    execFileSync('mkfifo', [file()])
    expect(await jfluid('ps')).toMatchObject({
      code: EX_CONFIG,
      stderr: expect.stringContaining('it is not a regular file'),
    })
    rmSync(file())
    symlinkSync('/nowhere', file())
    expect(await jfluid('ps')).toMatchObject({
      code: EX_CONFIG,
      stderr: expect.stringContaining('jfluid cannot read the file: '),
    })
    rmSync(file())
    given(' '.repeat(70_000))
    expect(await jfluid('ps')).toMatchObject({
      code: EX_CONFIG,
      stderr: expect.stringContaining('the limit is 65536'),
    })
  })
})

it('jfluid commands work if the current directory was deleted', async () => {
  const gone = join(directory, 'gone')
  mkdirSync(gone)
  const script = `cd ${gone} && rm -r ${gone} && exec ${process.execPath} ${cli} ps --json`
  expect(JSON.parse(execFileSync('sh', ['-c', script], { encoding: 'utf8' }))).toMatchObject({
    command: 'ps',
  })
})

it('jfluid proxy and commands without options do not read the configuration file', async () => {
  given('no JSON')
  expect(await jfluid('proxy')).toMatchObject({ code: EX_USAGE, stderr: expect.not.stringContaining(FILE) })
  expect((await jfluid('completion', 'bash')).code).toBe(0)
  expect((await jfluid('man')).code).toBe(0)
  expect((await jfluid('open', 'no.jfluid')).stderr).not.toContain(FILE)
})
