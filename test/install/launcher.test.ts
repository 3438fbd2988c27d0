// The launcher of the archive with Node.js. A shell script takes the place of Node.js.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseLdd } from '../../src/install/bundle.mjs'

const place = mkdtempSync(join(tmpdir(), "jfluid launcher's $HOME-"))
afterAll(() => rmSync(place, { recursive: true }))

/** Makes a folder like that of the archive. The node in it prints its process id and its arguments, and ends with code 7. */
function installed(name: string, loader: string): string {
  const folder = join(place, name)
  for (const it of ['bin', 'lib/jfluid/dist']) mkdirSync(join(folder, it), { recursive: true })
  const node = join(folder, 'lib/jfluid/node')
  writeFileSync(node, '#!/bin/sh\necho $$\nfor word in "$@"; do echo "<$word>"; done\nexit 7\n')
  const script = readFileSync(new URL('../../src/install/launcher.sh', import.meta.url), 'utf8')
  writeFileSync(join(folder, 'bin/jfluid'), script.replaceAll('@LOADER@', loader))
  for (const it of [node, join(folder, 'bin/jfluid')]) chmodSync(it, 0o755)
  return folder
}

const folder = installed('jfluid-linux-x64', '/bin/sh')
const words = ['record', "it's", 'a b', '', '*', '$HOME']
const expected = [join(folder, 'lib/jfluid/dist/cli.js'), ...words].map((it) => `<${it}>`)

function launched(program: string, args: readonly string[], cwd = '/', env = {}) {
  const ran = spawnSync(program, args, { cwd, encoding: 'utf8', env: { PATH: process.env.PATH, ...env } })
  const [pid, ...lines] = ran.stdout.split('\n')
  return { ...ran, lines: lines.slice(0, -1), isSameProcess: Number(pid) === ran.pid }
}

describe('the launcher of the archive with Node.js', () => {
  const absolute = join(place, 'absolute')
  symlinkSync(join(folder, 'bin/jfluid'), absolute)
  mkdirSync(join(place, 'links'))
  symlinkSync('../absolute', join(place, 'links/jfluid'))
  symlinkSync(join(place, 'links'), join(place, 'of-links'))

  it.each([
    ['by its path', join(folder, 'bin/jfluid'), '/'],
    ['by a relative path', './jfluid', join(folder, 'bin')],
    ['by a link', absolute, '/'],
    ['by a relative link to a link', join(place, 'links/jfluid'), '/'],
    ['by a link in a linked folder', join(place, 'of-links/jfluid'), '/'],
  ])('a launcher started %s starts Node.js in the same process, with all arguments', (_, program, cwd) => {
    const { status, lines, isSameProcess, stderr } = launched(program, words, cwd)
    expect(stderr).toBe('')
    expect(lines).toEqual(expected)
    expect(isSameProcess).toBe(true)
    expect(status).toBe(7)
  })

  it('a launcher found on a relative PATH, or started as an argument of sh, finds its folder', () => {
    const onPath = launched('sh', ['-c', 'exec jfluid "$@"', 'sh', ...words], folder, {
      PATH: `bin:${process.env.PATH}`,
      CDPATH: place,
    })
    expect(onPath.lines).toEqual(expected)
    expect(launched('sh', ['jfluid', ...words], join(folder, 'bin')).lines).toEqual(expected)
  })

  it('a launcher on a machine with another C library says so', () => {
    const other = installed('other', '/lib64/ld-none.so.2')
    const { status, stdout, stderr } = launched(join(other, 'bin/jfluid'), [])
    expect(status).toBe(69) // EX_UNAVAILABLE
    expect(stdout).toBe('')
    expect(stderr).toMatch(/^jfluid: .* needs \/lib64\/ld-none\.so\.2, which does not exist here/)
  })
})

describe('the libraries of a program, read from the output of ldd', () => {
  it('ldd lists the loader and the libraries', () => {
    const output = `
	linux-vdso.so.1 (0x00007fe4b484b000)
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fe4b4520000)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fe4b431e000)
	/lib64/ld-linux-x86-64.so.2 (0x00007fe4b484d000)
`
    expect(parseLdd(output)).toEqual({
      loader: '/lib64/ld-linux-x86-64.so.2',
      libraries: ['/lib/x86_64-linux-gnu/libm.so.6', '/lib/x86_64-linux-gnu/libc.so.6'],
    })
  })

  it('a missing library and a program without a loader are errors', () => {
    expect(() => parseLdd('\tlibuv.so.1 => not found\n')).toThrow('libuv.so.1 is not installed')
    expect(() => parseLdd('\tstatically linked\n')).toThrow('no loader')
  })
})
