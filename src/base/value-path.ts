// Syntax of --show and --by: where a value of a root call comes from, as `arg1.getRequestURI()`.

import { UsageError } from './errors.ts'

/** Object or primitive from which a path starts. A number is the index of an argument, beginning with 0. */
export type ValueStart = 'this' | 'return' | 'thrown' | number

export interface ValueStep {
  readonly name: string
  /** Whether the step calls a method without arguments. Otherwise it reads a field. */
  readonly isCall: boolean
}

export interface ValuePath {
  /** Path as the user wrote it, without blanks at its ends. */
  readonly text: string
  readonly start: ValueStart
  readonly steps: readonly ValueStep[]
}

export const MAX_SHOWS = 4
export const MAX_STEPS = 4
/** Maximum index of an argument: a method has at most 255 arguments. */
const MAX_ARGUMENT = 254

const START = /^(?:this|return|thrown|arg(\d{1,3}))$/
const STEP = /^([^\s.;[/<>():]+)(\(\))?$/u

/** Returns the path; undefined if the text is no path. */
export function valuePathOf(text: string): ValuePath | undefined {
  const trimmed = text.trim()
  const [first = '', ...rest] = trimmed.split('.')
  const found = START.exec(first)
  if (found === null || rest.length > MAX_STEPS) return undefined
  const argument = found[1] === undefined ? null : Number(found[1])
  if (argument !== null && argument > MAX_ARGUMENT) return undefined
  const steps: ValueStep[] = []
  for (const part of rest) {
    const step = STEP.exec(part)
    if (step === null) return undefined
    steps.push({ name: step[1]!, isCall: step[2] !== undefined })
  }
  return { text: trimmed, start: argument ?? (first as 'this' | 'return' | 'thrown'), steps }
}

/** Thrown for a malformed path of a value that a program passes to the library. The parser of the command line refuses it earlier. */
export class BadValuePath extends UsageError {
  static sample = () => new BadValuePath('tenant.id')
  readonly hint = 'Write arg0 for the first argument, this, return or thrown, then fields: arg0.customer.id'
  constructor(text: string) {
    super(`cannot read the value '${text}'`)
  }
}

/** @throws BadValuePath */
export function parseValuePath(text: string): ValuePath {
  const path = valuePathOf(text)
  if (path === undefined) throw new BadValuePath(text)
  return path
}
