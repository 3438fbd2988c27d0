import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closeLostTerminals } from '../../src/commands/lost-terminals.ts'

const deviceOf = (file: number) => fstatSync(file).rdev
const NOTHING = statSync('/dev/null').rdev

it('what leads to /dev/null, as that of a service does, stays', () => {
  const file = openSync('/dev/null', 'r')
  closeLostTerminals([file])
  const other = openSync('/dev/zero', 'r')
  expect(deviceOf(file)).toBe(NOTHING)
  closeSync(other)
  closeSync(file)
})

it('the number of a device that is no terminal goes to no other file', () => {
  const file = openSync('/dev/zero', 'r')
  closeLostTerminals([file])
  const other = openSync('/dev/zero', 'r')
  expect(other).not.toBe(file)
  expect(deviceOf(file)).toBe(NOTHING)
  closeSync(other)
  closeSync(file)
})
