// The place of a method's code, from the attributes of a compiled class.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { placeIn } from '../../src/session/method-place.ts'
import { compileJava } from '../support/java-process.ts'
import { jdks } from '../support/jdks.ts'

const SOURCE = `package shop;
abstract class Order {
  int total(int n) {
    int sum = n;
    return sum +
      twice(n);
  }
  int twice(int n) { return 2 * n; }
  abstract int twice(long n);
}
`

async function compiled(options: readonly string[]) {
  const dir = await compileJava(jdks[0]!, { 'shop/Order.java': SOURCE }, { options })
  return parseClassFile(readFileSync(join(dir, 'shop', 'Order.class')))
}

it('the location of a method consists of its source file and its first and last line with code', async () => {
  const file = await compiled(['-g'])
  expect(placeIn(file, 'total', '(I)I')).toEqual({ file: 'Order.java', lines: { from: 4, to: 6 } })
  expect(placeIn(file, 'twice', '(I)I')).toEqual({ file: 'Order.java', lines: { from: 8, to: 8 } })
})

it('abstract methods, missing methods, and methods of classes without debug data have no lines', async () => {
  const file = await compiled(['-g'])
  expect(placeIn(file, 'twice', '(J)I')).toEqual({ file: 'Order.java', lines: null })
  expect(placeIn(file, 'absent', '()V')).toEqual({ file: 'Order.java', lines: null })
  expect(placeIn(await compiled(['-g:none']), 'total', '(I)I')).toEqual({ file: null, lines: null })
})
