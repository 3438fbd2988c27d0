import assert from 'node:assert/strict'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { CannotWriteExport, NoFormat, UnknownFormat } from '../../src/export/errors.ts'
import { exportToFile, formatNamed, formatOfFile, formats } from '../../src/export/formats.ts'
import { FORMAT_NAMES } from '../../src/options/formats.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { chain, profileOf, profileOfTree } from '../profile/trees.ts'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { cli } from '../support/jfluid.ts'
import { exported } from './exported.ts'

describe('export formats', () => {
  it('export formats are found by name, and each format has a file name extension', () => {
    assert.equal(formatNamed('JSON').name, 'json')
    assert.equal(new Set(formats.map((format) => format.extension)).size, formats.length)
  })

  it('export formats have the names listed in the help of the export command', () => {
    assert.deepEqual(
      formats.map((format) => format.name),
      FORMAT_NAMES,
    )
  })

  it('the export format is derived from the file name, by the longest extension that matches', () => {
    for (const format of formats) assert.equal(formatOfFile(`/tmp/a.b${format.extension}`), format)
    assert.equal(formatOfFile('P.CSV').name, 'csv')
    for (const name of ['p.xlsx', 'csv', undefined]) {
      assert.throws(
        () => formatOfFile(name),
        (error) => error instanceof NoFormat && error.exitCode === 64 && /json, csv/.test(error.hint),
      )
    }
  })

  it('an unknown export format ends the command with exit code 64 and a list of the known formats', () => {
    assert.throws(
      () => formatNamed('svg\x1b'),
      (error) =>
        error instanceof UnknownFormat &&
        error.exitCode === 64 &&
        error.hint.includes(`: ${FORMAT_NAMES.join(', ')}`) &&
        error.message === 'unknown export format "svg\\u001b"',
    )
  })

  it('an export of an empty profile is a valid file in every format', async () => {
    assert.equal(await exported(profileOf(''), 'collapsed'), '')
    assert.deepEqual(JSON.parse(await exported(profileOf(''), 'json')).merged, [])
  })
})

describe('the export format "collapsed" (collapsed stacks)', () => {
  const profile = profileOf('main 1x 10.4ns ( work 2x 54.5ns ( main 1x 0ns ( leaf 1x 3ns ) ) other 1x -3ns )')

  it('an export as collapsed stacks has one line per context with rounded self time, and no line if the self time is zero or negative', async () => {
    assert.equal(
      await exported(profile, 'collapsed'),
      `com.acme.App.main 10
com.acme.App.main;com.acme.App.work 55
com.acme.App.main;com.acme.App.work;com.acme.App.main;com.acme.App.leaf 3
`,
    )
  })

  it('on request, each line of collapsed stacks begins with the thread name', async () => {
    const [first] = (await exported(profile, 'collapsed', true)).split('\n')
    assert.equal(first, '[worker-1 id=21];com.acme.App.main 10')
  })

  it('frame names in collapsed stacks contain no separators and no line ends', async () => {
    const odd = profileOf('main 1x 1ns', {
      methodNames: [
        { class: '', method: '', descriptor: '', loader: '' },
        { class: 'a;b', method: 'c\nd', descriptor: '()V', loader: 'app' },
      ],
    })
    assert.equal(await exported(odd, 'collapsed'), 'a:b.c?d 1\n')
  })

  it('the length of lines in collapsed stacks is limited even for a recursion 3,000 deep', async () => {
    const deep = profileOfTree(chain(3000), profileOf('deep 1x 1ns').methodNames)
    const lines = (await exported(deep, 'collapsed')).trimEnd().split('\n')
    assert.equal(lines.length, 3000)
    const last = lines[2999]!.split(';')
    assert.equal(last.length, 513)
    assert.equal(last[256], '[2488 frames]')
  })
})

describe('an export to a file', () => {
  const profile = profileOf('main 1x 10ns')

  it('an exported file is complete and readable only by its owner, and no temporary file is left', async () => {
    const dir = temporaryDirectory()
    const out = join(dir, 'p.csv')
    const told: number[] = []
    await exportToFile(profile, formatNamed('csv'), out, {}, (bytes) => told.push(bytes))
    assert.equal(readFileSync(out, 'utf8'), await exported(profile, 'csv'))
    assert.equal(statSync(out).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(dir), ['p.csv'])
    assert.equal(told.at(-1), statSync(out).size)
  })

  it('an export is written to the target of a symbolic link, and to a device', async () => {
    const dir = temporaryDirectory()
    symlinkSync(join(dir, 'real.csv'), join(dir, 'link.csv'))
    writeFileSync(join(dir, 'real.csv'), 'old')
    await exportToFile(profile, formatNamed('csv'), join(dir, 'link.csv'))
    assert.match(readFileSync(join(dir, 'real.csv'), 'utf8'), /^node,/)
    await exportToFile(profile, formatNamed('csv'), '/dev/null')
    assert.ok(statSync('/dev/null').isCharacterDevice())
  })

  it('an export to a symbolic link whose target does not exist creates the target', async () => {
    const dir = temporaryDirectory()
    symlinkSync('real.csv', join(dir, 'link.csv'))
    await exportToFile(profile, formatNamed('csv'), join(dir, 'link.csv'))
    assert.ok(lstatSync(join(dir, 'link.csv')).isSymbolicLink())
    assert.match(readFileSync(join(dir, 'real.csv'), 'utf8'), /^node,/)
  })

  it('an export to a pipe through a link such as /dev/fd is written to the pipe, and the link is kept', async () => {
    const dir = temporaryDirectory()
    const [file, link] = [join(dir, 'p.jfluid'), join(dir, 'stdout')]
    await writeProfile(profile, file)
    symlinkSync('/proc/self/fd/1', link)
    const command = '"$@" | cat'
    const args = [process.execPath, cli, 'export', file, '--format', 'csv', '--out', link]
    const p = startProcess('bash', ['-o', 'pipefail', '-c', command, 'bash', ...args])
    assert.deepEqual([(await p.exit).code, p.stderr()], [0, ''])
    assert.match(p.stdout(), /^node,/)
    assert.ok(lstatSync(link).isSymbolicLink())
  })

  it.each([
    ['a full disk', '/dev/full', /no space left on the device/],
    ['a folder', 'folder', /it is a directory/],
    ['a missing folder', 'missing/p.csv', /no such file or directory/],
    ['a file in place of a folder', 'file/p.csv', /part of the path is not a directory/],
    ['a name that is too long', `${'n'.repeat(300)}.csv`, /the name is too long/],
  ])('an export to %s ends with exit code 73 and advice', async (_, path, message) => {
    const dir = temporaryDirectory()
    mkdirSync(join(dir, 'folder'))
    writeFileSync(join(dir, 'file'), 'old')
    const out = path.startsWith('/') ? path : join(dir, path)
    await assert.rejects(exportToFile(profile, formatNamed('csv'), out), (error) => {
      assert.ok(error instanceof CannotWriteExport)
      assert.equal(error.exitCode, 73)
      assert.match(error.message, message)
      assert.match(error.hint, /--out/)
      return true
    })
    assert.deepEqual(readdirSync(dir).sort(), ['file', 'folder'])
    assert.equal(readFileSync(join(dir, 'file'), 'utf8'), 'old')
  })

  it('a failed export leaves the existing file unchanged', async () => {
    const out = join(temporaryDirectory(), 'p.csv')
    writeFileSync(out, 'old')
    const failing = {
      ...formatNamed('csv'),
      *pieces() {
        yield 'half'
        throw new RangeError('a bug of ours')
      },
    }
    await assert.rejects(exportToFile(profile, failing, out), RangeError)
    assert.equal(readFileSync(out, 'utf8'), 'old')
    assert.equal(existsSync(`${out}.tmp`), false)
  })
})
