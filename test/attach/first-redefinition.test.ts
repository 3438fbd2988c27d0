import { expect, it } from 'vitest'
import { discardsMuch } from '../../src/attach/first-redefinition.ts'

it.each([
  [17, 11_768, true],
  [22, 4_000, true],
  [17, 1_586, false], // the demo's shop
  [25, 11_768, false],
  [null, 11_768, false],
  [17, null, false],
])('JDK %s with %s compiled methods: %s', (feature, compiled, expected) => {
  expect(discardsMuch(feature, compiled)).toBe(expected)
})
