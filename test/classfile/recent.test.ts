import { expect, it } from 'vitest'
import { ClassFormatProblem } from '../../src/classfile/class-file.ts'
import { forgetRecent, readableClassFile, recentClassFile } from '../../src/classfile/recent.ts'

/** Returns a class `A` without a superclass, with one attribute of this number of bytes. */
function classOf(attributeBytes: number): Uint8Array {
  const head = [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52]
  const pool = [0, 3, 1, 0, 1, 0x41, 7, 0, 1] // A; class A
  const rest = [0, 0x21, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
  const length = [24, 16, 8, 0].map((shift) => (attributeBytes >>> shift) & 0xff)
  const bytes = new Uint8Array(head.length + pool.length + rest.length + length.length + attributeBytes)
  bytes.set([...head, ...pool, ...rest, ...length])
  return bytes
}

it('a class file that is read again soon is parsed only once', () => {
  const bytes = classOf(10)
  const file = recentClassFile(bytes)
  expect(file.name).toBe('A')
  expect(recentClassFile(bytes)).toBe(file)
  expect(recentClassFile(classOf(10))).not.toBe(file)
})

it('if cached class files exceed 4 MiB, the least recently used class files are dropped', () => {
  const [old, used] = [classOf(10), classOf(20)]
  const [oldFile, usedFile] = [recentClassFile(old), recentClassFile(used)]
  recentClassFile(classOf(3 << 20))
  expect(recentClassFile(used)).toBe(usedFile)
  recentClassFile(classOf(1 << 20))
  expect(recentClassFile(used)).toBe(usedFile)
  expect(recentClassFile(old)).not.toBe(oldFile)
})

it('a class file above 4 MiB is not cached, and other class files stay in the cache', () => {
  const [bytes, large] = [classOf(10), classOf(4 << 20)]
  const file = recentClassFile(bytes)
  const first = recentClassFile(large)
  expect(recentClassFile(large) === first).toBe(false) // toBe() alone compares 4 MiB
  expect(recentClassFile(bytes)).toBe(file)
})

it('the cache of class files can be cleared', () => {
  const bytes = classOf(10)
  const file = recentClassFile(bytes)
  forgetRecent()
  expect(recentClassFile(bytes)).not.toBe(file)
})

it('an invalid class file is refused each time it is read', () => {
  const bytes = classOf(10).subarray(0, 20)
  for (let i = 0; i < 2; i++) expect(() => recentClassFile(bytes)).toThrow(ClassFormatProblem)
})

it('invalid bytes that a JVM has sent are handled as a missing class file', () => {
  expect(readableClassFile(Uint8Array.of(0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61, 0, 2, 80, 0))).toBeNull()
})
