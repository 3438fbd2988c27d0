import { closeSync, fstatSync, openSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { closeLostTerminals } from '../../src/commands/lost-terminals.ts'

const deviceOf = (file: number) => fstatSync(file).rdev
const NOTHING = statSync('/dev/null').rdev

it('a file descriptor that is already open on /dev/null is left unchanged', () => {
  const file = openSync('/dev/null', 'r')
  closeLostTerminals([file])
  const other = openSync('/dev/zero', 'r')
  expect(deviceOf(file)).toBe(NOTHING)
  closeSync(other)
  closeSync(file)
})

it('the file descriptor of a lost terminal is redirected to /dev/null, so its number is not reused', () => {
  const file = openSync('/dev/zero', 'r')
  closeLostTerminals([file])
  const other = openSync('/dev/zero', 'r')
  expect(other).not.toBe(file)
  expect(deviceOf(file)).toBe(NOTHING)
  closeSync(other)
  closeSync(file)
})
