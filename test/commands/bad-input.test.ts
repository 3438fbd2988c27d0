// Bad input that is detected without a JVM: the message, the hint and the exit code. Tests that need a JVM are in
// test/live/bad-input.jvm.test.ts.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { inProcess } from '../support/in-process.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { expectRefusal } from '../support/refusal.ts'

describe('options with invalid values', () => {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const record = (...args: string[]) => inProcess('record', ...args, '--out', out)

  it.each(['abc', '0', '-7', '1.5', '99999999999'])('process id %s is refused', async (pid) => {
    expectRefusal(
      await inProcess('record', '--root', 'A.b', '--out', out, '--', pid),
      64,
      /'.*' is not a process id/,
      /jfluid ps/,
    )
  })

  it('record without a root method is refused', async () => {
    expectRefusal(await record('1'), 64, /no root method was given/, /--root com\.foo/)
  })

  it.each([
    ['foo', /names no class and method/],
    ['.foo', /class name is missing/],
    ['Foo.', /method name is missing/],
    ['Foo.bar(int', /'\(' is not closed/],
    ['Foo.bar()Q', /'Q' is not a return descriptor/],
    ['Foo b.a', /no blanks/],
  ])('root %s is refused', async (root, reason) => {
    expectRefusal(await record('1', '--root', root), 64, reason, /Write it as 'Class\.method'/)
  })

  it.each([
    ['--include', 'com.***.x', /'\*' or '\*\*'/],
    ['--exclude', 'com..x', /part of the name is empty/],
    ['--include', 'a b', /no blanks/],
    ['--exclude', 'com.[ab]', /characters that are invalid in a class name/],
  ])('the class pattern %s %s is refused', async (option, pattern, reason) => {
    expectRefusal(await record('1', '--root', 'A.b', option, pattern), 64, reason, /com\.foo\.\*\*/)
  })

  it.each([
    ['--scheme', 'c', /Allowed choices are auto, a, b, adaptive/],
    ['--sideways', 'x', /unknown option '--sideways'/],
  ])('the option %s %s is refused', async (option, value, reason) => {
    expectRefusal(await record('1', '--root', 'A.b', option, value), 64, reason, /--help/)
  })

  it.each(['x', '10', '-1s', '0s'])('record --duration %s is refused', async (duration) => {
    const ran = await record('1', '--root', 'A.b', `--duration=${duration}`)
    expectRefusal(ran, 64, /argument '.*' is invalid/, /500ms/)
  })

  it('an unknown command is refused, and record without --out is refused', async () => {
    expectRefusal(await inProcess('atach', '1'), 64, /unknown command 'atach'/, /attach|--help/)
    expectRefusal(
      await inProcess('record', '1', '--root', 'A.b'),
      64,
      /neither --out nor --push/,
      /--out <file>/,
    )
  })

  it('a refused command creates no output file', () => expect(existsSync(out)).toBe(false))
})

describe('a file that is not a profile', () => {
  const dir = temporaryDirectory()
  const file = (name: string, bytes: string | Uint8Array): string => {
    const path = join(dir, name)
    writeFileSync(path, bytes)
    return path
  }
  const magic = Buffer.from('\x89JFLUID\n', 'latin1')
  const header = (version: number, length: number): Buffer => {
    const bytes = Buffer.alloc(24)
    magic.copy(bytes)
    bytes.writeUInt32LE(version, 8)
    bytes.writeBigUInt64LE(BigInt(length), 16)
    return bytes
  }
  const commands = (path: string) => [
    ['report', path],
    ['export', path, '--format', 'json'],
  ]

  it.each([
    ['a missing file', () => join(dir, 'missing'), STATUS.fileNotFound, /no such file/, /jfluid record/],
    ['a directory', () => dir, STATUS.fileNotFound, /is a directory/, /\.jfluid file/],
    [
      'an empty file',
      () => file('empty', ''),
      STATUS.corruptOrForeignFile,
      /is not a jfluid profile/,
      /jfluid record/,
    ],
    [
      'a foreign file',
      () => file('foreign', 'PK\x03\x04'),
      STATUS.corruptOrForeignFile,
      /is not a jfluid profile/,
      /jfluid record/,
    ],
    [
      'a truncated profile',
      () => file('short', magic.subarray(0, 5)),
      STATUS.corruptOrForeignFile,
      /ends after 5 bytes/,
      /record again/,
    ],
    [
      'a profile without its body',
      () => file('head', header(1, 99)),
      STATUS.corruptOrForeignFile,
      /ends after 24 of 123 bytes/,
      /record again/,
    ],
    [
      'a modified profile',
      () => file('changed', Buffer.concat([header(1, 1), Buffer.from('x')])),
      ...([STATUS.corruptOrForeignFile, /checksum is wrong/, /record again/] as const),
    ],
    [
      'a profile of a newer jfluid',
      () => file('newer', header(7, 0)),
      STATUS.corruptOrForeignFile,
      /has profile format 7/,
      /update/,
    ],
  ] as const)('this path is refused as a profile: %s', async (_, path, code, message, hint) => {
    for (const command of commands(path())) {
      expectRefusal(await inProcess(...command), code, message, hint)
    }
  })
})
