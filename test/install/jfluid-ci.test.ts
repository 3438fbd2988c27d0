// ci/jfluid-ci.sh. A shell script takes the place of jfluid, and gives the results of the test.

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gate } from '../../src/commands/gate.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { counted } from '../export/exported.ts'

const SCRIPT = new URL('../../ci/jfluid-ci.sh', import.meta.url)
/** Words of `jfluid gate` for a profile with a gap. */
const GAP = 'the new profile does not contain all calls: 1 gap'
const BASELINE_GAP = 'the baseline does not contain all calls: 1 gap'

/**
 * Prints its arguments to the file `calls`. The file `<command>-<n>` has what the nth call of a command does; without such a file,
 * the command prints its name and succeeds.
 */
const STAND_IN = `#!/bin/sh
echo "$*" >>"$PLACE/calls"
n=$(grep -c "^$1" "$PLACE/calls")
out=$(expr " $*" : '.* --record \\([^ ]*\\)' '|' " $*" : '.* --out \\([^ ]*\\)')
[ "$out" = 0 ] || [ -z "$out" ] || echo "$1 $n" >"$out"
if [ -f "$PLACE/$1-$n" ]; then . "$PLACE/$1-$n"; else echo "text of $1"; fi
`

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'jfluid-ci-'))
  for (const it of ['package/ci', 'package/dist']) mkdirSync(join(place, it), { recursive: true })
  copyFileSync(SCRIPT, join(place, 'package/ci/jfluid-ci.sh'))
  executable('package/dist/cli.js', STAND_IN)
})
afterEach(() => rmSync(place, { recursive: true }))

const path = (name: string): string => join(place, name)
const text = (name: string): string => readFileSync(path(name), 'utf8')

function executable(name: string, script: string): void {
  writeFileSync(path(name), script)
  chmodSync(path(name), 0o755)
}

/** Sets what the nth call of a command of jfluid does. */
function does(command: string, nth: number, script: string): void {
  writeFileSync(path(`${command}-${nth}`), script)
}

const fails = (message: string, code: number): string =>
  `echo 'jfluid: ${message}' >&2; echo '  A hint.' >&2; exit ${code}`

const WORDS = ['--baseline', 'base.jfluid', '--root', 'Foo.bar', '--', 'mvn', '-q', 'a test']

function ci(
  words: readonly string[] = WORDS,
  env: Record<string, string> = {},
  script = 'package/ci/jfluid-ci.sh',
) {
  const { status, stdout, stderr } = spawnSync('sh', [path(script), ...words], {
    cwd: place,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, PLACE: place, ...env },
  })
  return { status, stdout, stderr }
}

const calls = (command: string): number =>
  text('calls')
    .split('\n')
    .filter((it) => it.startsWith(command)).length

describe('ci/jfluid-ci.sh', () => {
  it('records the command, and compares it with the baseline', () => {
    writeFileSync(path('base.jfluid'), '')
    const { status, stderr } = ci(['--tolerance', '1%', '--jvm', 'surefire', '--scheme', 'a', ...WORDS])
    expect(status, stderr).toBe(0)
    const profile = 'jfluid-ci/profile.jfluid'
    expect(text('calls').split('\n')).toEqual([
      `run --mode bytecodes --scheme a --reproducible --record ${profile} --jvm surefire --root Foo.bar -- mvn -q a test`,
      `gate base.jfluid ${profile} --tolerance 1%`,
      `export ${profile} --out jfluid-ci/flame.svg`,
      `compare base.jfluid ${profile} --markdown`,
      '',
    ])
    expect(stderr).toBe('text of gate\n')
    expect(text('jfluid-ci/comment.md')).toBe(
      '<!-- jfluid-ci -->\n' +
        '**Passed**: a call of the root costs no more than the baseline allows (tolerance: 1%).\n\n' +
        'text of compare\n\nThe flame graph of the new profile is `flame.svg`, among the results of this build.\n',
    )
  })

  it('without a baseline, the profile is compared with itself, and the comment has its table', () => {
    const { status, stderr } = ci()
    expect([status, stderr]).toEqual([0, ''])
    expect(text('calls')).toMatch(/^gate jfluid-ci\/profile\.jfluid jfluid-ci\/profile\.jfluid$/m)
    expect(text('jfluid-ci/comment.md')).toMatch(
      /There is no baseline yet: keep `profile\.jfluid` as `base\.jfluid`\.\n\ntext of export\n/,
    )
  })

  it('a profile that cannot be a baseline is an error', () => {
    does('gate', 1, fails('the baseline does not contain all calls: 2 calls had not ended', 65))
    const { status, stderr } = ci()
    expect(status).toBe(65)
    expect(calls('run')).toBe(1)
    expect(stderr).toContain(
      'jfluid: the new profile does not contain all calls: 2 calls had not ended\n  A hint.',
    )
    expect(text('jfluid-ci/comment.md')).toContain(
      'this profile cannot be the baseline: the new profile does not',
    )
  })

  it('a failed command leaves no results of an earlier build, and the comment has its exit code', () => {
    writeFileSync(path('base.jfluid'), '')
    expect(ci().status).toBe(0)
    for (const it of ['profile.4711.jfluid', 'profile.txt']) writeFileSync(path(`jfluid-ci/${it}`), '')
    rmSync(path('calls'))
    does('run', 1, 'rm "$out"; exit 7')
    const summary = path('summary')
    expect(ci(WORDS, { GITHUB_STEP_SUMMARY: summary }).status).toBe(7)
    const comment = text('jfluid-ci/comment.md')
    expect(comment).toBe(
      '<!-- jfluid-ci -->\n**Not compared**: `jfluid run` ended with exit code 7. The output of the build has the cause.\n',
    )
    expect(text('summary')).toBe(comment)
    expect(
      ['flame.svg', 'profile.jfluid', 'profile.4711.jfluid', 'profile.txt'].map((it) =>
        existsSync(path(`jfluid-ci/${it}`)),
      ),
    ).toEqual([false, false, false, true])
  })

  it.each([
    ['with a baseline', true, GAP],
    ['for a new baseline', false, BASELINE_GAP],
  ])('a recording with a gap is repeated %s', (_, hasBaseline, message) => {
    if (hasBaseline) writeFileSync(path('base.jfluid'), '')
    does('gate', 1, fails(message, 65))
    const { status, stderr } = ci()
    expect(status, stderr).toBe(0)
    expect(calls('run')).toBe(2)
    expect(text('jfluid-ci/profile.jfluid')).toBe('run 2\n')
    expect(stderr).toContain(`jfluid-ci: ${GAP}; recording 2 of at most 3\n`)
  })

  it('after three recordings with gaps, nothing is compared', () => {
    writeFileSync(path('base.jfluid'), '')
    for (const nth of [1, 2, 3]) does('gate', nth, fails(GAP, 65))
    const { status, stderr } = ci()
    expect(status).toBe(65)
    expect(calls('run')).toBe(3)
    expect(stderr).toContain(`jfluid: ${GAP}\n  A hint.`)
    expect(text('jfluid-ci/comment.md')).toContain(`**Not compared**: ${GAP}.\n`)
  })

  it('if the command cannot run again, the first recording and its gap are the result', () => {
    writeFileSync(path('base.jfluid'), '')
    does('gate', 1, fails(GAP, 65))
    does('run', 1, 'echo part >"$PLACE/jfluid-ci/profile.4711.jfluid"')
    does('run', 2, 'exit 83')
    expect(ci().status).toBe(65)
    expect(text('jfluid-ci/profile.jfluid')).toBe('run 1\n')
    expect(text('jfluid-ci/comment.md')).toContain(
      `**Not compared**: ${GAP}; the recording could not be repeated: \`jfluid run\` ended with exit code 83.\n`,
    )
    expect(readdirSync(path('jfluid-ci')).sort()).toEqual(['comment.md', 'flame.svg', 'profile.jfluid'])
  })

  it('other reasons not to compare do not repeat the recording', () => {
    writeFileSync(path('base.jfluid'), '')
    does('gate', 1, fails(BASELINE_GAP, 65))
    expect(ci().status).toBe(65)
    expect(calls('run')).toBe(1)
  })

  it('jfluid gate names gaps in the words that the script looks for', async () => {
    const whole = counted('bytecodes')
    const { instrumentation } = whole
    await writeProfile(whole, path('whole.jfluid'))
    await writeProfile({ ...whole, instrumentation: { ...instrumentation, gaps: 1 } }, path('gap.jfluid'))
    const compared = (before: string, after: string) =>
      gate(path(before), [path(after)], { tolerance: 0 }, () => {})
    await expect(compared('whole.jfluid', 'gap.jfluid')).rejects.toMatchObject({ message: GAP, exitCode: 65 })
    await expect(compared('gap.jfluid', 'gap.jfluid')).rejects.toThrow(BASELINE_GAP)
    await compared('whole.jfluid', 'whole.jfluid')
  })

  it('a growth fails, and the comment has the error of jfluid gate', () => {
    writeFileSync(path('base.jfluid'), '')
    does('gate', 1, fails('one call costs 7 % more', 82))
    expect(ci().status).toBe(82)
    expect(text('jfluid-ci/comment.md')).toContain(
      '**FAILED**: one call costs 7 % more.\n\ntext of compare\n',
    )
  })

  it('an error of jfluid export or jfluid compare is in the comment, and is not a success', () => {
    writeFileSync(path('base.jfluid'), '')
    does('export', 1, 'exit 73')
    does('compare', 1, 'echo half; exit 70')
    expect(ci().status).toBe(73)
    const comment = text('jfluid-ci/comment.md')
    expect(comment).toMatch(/Incomplete\*\*: `jfluid export` ended with exit code 73\./)
    expect(comment).toMatch(/Incomplete\*\*: `jfluid compare` ended with exit code 70\./)
    expect(comment).not.toMatch(/half|flame/)
    expect(existsSync(path('jfluid-ci/flame.svg'))).toBe(false)
  })

  it('the new profile never replaces the baseline', () => {
    mkdirSync(path('jfluid-ci'))
    writeFileSync(path('jfluid-ci/profile.jfluid'), 'baseline')
    symlinkSync('jfluid-ci/profile.jfluid', path('base.jfluid'))
    const { status, stderr } = ci()
    expect(status).toBe(64)
    expect(stderr).toMatch(
      /^jfluid-ci: the new profile would replace the baseline, base\.jfluid\n {2}Copy the baseline/,
    )
    expect(text('base.jfluid')).toBe('baseline')
    rmSync(path('base.jfluid'))
    writeFileSync(path('jfluid-ci/profile.1.jfluid'), 'baseline')
    expect(ci(['--baseline', 'jfluid-ci/profile.1.jfluid', ...WORDS.slice(2)]).status).toBe(0)
    expect(text('jfluid-ci/profile.1.jfluid')).toBe('baseline')
  })

  it('in the archive with Node.js, the script starts the launcher; in a checkout, jfluid of the PATH', () => {
    const lib = path('archive/lib/jfluid')
    for (const it of ['archive/bin', 'archive/lib/jfluid/ci', 'bin']) mkdirSync(path(it), { recursive: true })
    copyFileSync(SCRIPT, join(lib, 'ci/jfluid-ci.sh'))
    writeFileSync(join(lib, 'node'), '')
    executable('archive/bin/jfluid', STAND_IN)
    symlinkSync('../lib/jfluid/ci/jfluid-ci.sh', path('archive/bin/jfluid-ci'))
    symlinkSync(path('archive/bin/jfluid-ci'), path('bin/linked'))
    expect(ci(WORDS, {}, 'bin/linked').status).toBe(0)

    rmSync(path('package/dist'), { recursive: true })
    const none = ci()
    expect(none.status).toBe(69)
    expect(none.stderr).toMatch(/^jfluid-ci: jfluid was not found on the PATH\n {2}Install jfluid first/)
    symlinkSync(path('archive/bin/jfluid'), path('bin/jfluid'))
    expect(ci(WORDS, { PATH: `${path('bin')}:${process.env.PATH}` }).status).toBe(0)
    expect(calls('run')).toBe(2)
  })

  it('wrong arguments are refused', () => {
    for (const words of [
      ['--baseline'],
      ['--baseline', 'b'],
      ['--baseline', 'b', '--root', 'r'],
      ['--nothing'],
    ])
      expect(ci(words)).toMatchObject({
        status: 64,
        stderr: expect.stringMatching(/^jfluid-ci: .*\n {2}Use jfluid-ci --help/),
      })
    expect(existsSync(path('jfluid-ci'))).toBe(false)
    expect(ci(['--help'])).toMatchObject({ status: 0, stdout: expect.stringMatching(/^usage: jfluid-ci/) })
  })
})
