import { expect } from 'vitest'
import type { Ran } from './jfluid.ts'

/** Expects the format of an error: message, hint, code, and no stack trace. */
export function expectRefusal(
  { code, stdout, stderr }: Ran,
  exitCode: number,
  message: RegExp,
  hint: RegExp,
): void {
  expect(stderr).toMatch(message)
  expect(stderr).toMatch(hint)
  expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' })
  expect(stderr).not.toMatch(/^ +at |internal error|node:/m)
}
