// Numbers of call sites: which calls have a number, and when numbers are kept.

import { expect, it } from 'vitest'
import { type ClassFile, parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { SiteNumbers } from '../../src/instrument/sites.ts'
import { assemble } from './assembler.ts'

const CODE =
  'invokestatic T.run()V | ldc2_w 1 | invokestatic java/lang/Long.toString(J)Ljava/lang/String; | pop | invokestatic T.run()V | return'

/**
 * @param first  line of the first instruction
 * @param last   line of the last call
 */
function withLines(first: number, last: number): ClassFile {
  const table = [0, 2, 0, 0, 0, first, 0, 10, 0, last]
  return parseClassFile(
    assemble({ method: 'run()V', code: CODE, attributes: { LineNumberTable: table } }).bytes,
  )
}

const numbered = (numbers: SiteNumbers, id: number, classFile: ClassFile) => {
  const found = numbers.of(id, classFile, parseCode(classFile, classFile.methods[0]!))
  return [...found].map(([bci, number]) => [bci, number, numbers.site(number)?.line])
}

it('the call sites of a rewritten method keep their numbers; call sites on changed lines get new numbers', () => {
  const numbers = new SiteNumbers()
  const first = [
    [0, 1, 7],
    [10, 2, 8],
  ]
  expect(numbered(numbers, 1, withLines(7, 8))).toEqual(first)
  expect(numbered(numbers, 1, withLines(7, 8))).toEqual(first)
  expect(numbered(numbers, 1, withLines(7, 9))).toEqual([
    [0, 3, 7],
    [10, 4, 9],
  ])
  // The old number still denotes the old call site.
  expect(numbers.site(2)).toEqual({ bci: 10, line: 8 })
})

it('calls of methods of numbers and strings have no site number, unless the JDK has probes', () => {
  expect(numbered(new SiteNumbers(true), 1, withLines(7, 8)).map(([bci]) => bci)).toEqual([0, 6, 10])
})

it('calls have no site number when all numbers are used, and a warning gives the number of methods with such calls', () => {
  const numbers = new SiteNumbers(false, 3)
  numbered(numbers, 1, withLines(7, 8))
  expect(numbers.warnings).toEqual([])
  const none = [
    [0, 0, undefined],
    [10, 0, undefined],
  ]
  expect(numbered(numbers, 2, withLines(7, 8))).toEqual(none)
  expect(numbered(numbers, 2, withLines(7, 8))).toEqual(none)
  expect(numbered(numbers, 3, withLines(7, 8))).toEqual(none)
  expect(numbers.warnings).toEqual(['2 methods have no call sites: the limit is 3 call sites'])
  expect(numbered(numbers, 1, withLines(7, 8)).map(([, number]) => number)).toEqual([1, 2])
})
