// Messages and hints of all error classes, checked with the samples of each class. docs/errors.md lists them.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorClasses, errorsPage } from './error-samples.ts'

const classes = await errorClasses()
const codes = [...readFileSync('docs/exit-codes.md', 'utf8').matchAll(/^\| (\d+) \|/gm)].map(([, it]) =>
  Number(it),
)
/** Number of characters in four lines of a terminal with 80 columns. */
const MAX_LENGTH = 320
/** First words of hints: each hint is an imperative sentence. */
const VERBS =
  'Add Attach Build Change Check Choose Compare Continue Copy Correct Disconnect End Enlarge Find Free Give Ignore Install Leave List Look Make Move Name Open Raise Read Record Remove Replace Report Resume Restart Restore Run Sample Send Set Start Try Use Wait Write'.split(
    ' ',
  )
/** Exit codes of the program that jfluid has started. */
const FOREIGN = ['ProgramFailed']

it('the test finds all error classes in the sources', () => {
  expect(classes.length).toBeGreaterThan(190)
})

it('every error class is exported and has a sample', () => {
  expect(classes.filter(({ samples }) => samples === undefined).map(({ name }) => name)).toEqual([])
})

describe.each(classes.map(({ name, samples = [] }) => ({ name, samples })))(
  'error class $name',
  ({ name, samples }) => {
    it.each(samples.map(({ message, hint, exitCode }) => ({ message, hint, exitCode })))(
      'the message and its hint are well-formed, and the exit code is documented: $message',
      ({ message, hint, exitCode }) => {
        for (const text of [message, hint]) {
          expect(text).not.toMatch(/undefined|NaN|null|\[object|^\s*$|\s$/m)
          expect(text.length, text).toBeLessThanOrEqual(MAX_LENGTH)
        }
        // The command line puts "jfluid: " before a message.
        expect(message).not.toMatch(/^[A-Z][a-z]|[.;,:]$/)
        expect(VERBS, hint).toContain(hint.split(' ')[0])
        if (!FOREIGN.includes(name))
          expect(exitCode > 128 || codes.includes(exitCode), `${exitCode}`).toBe(true)
      },
    )
  },
)

it('no two error classes have the same message', () => {
  const all = classes.flatMap(({ name, samples = [] }) => samples.map(({ message }) => ({ name, message })))
  expect(
    all.filter((it) => all.some(({ name, message }) => name !== it.name && message === it.message)),
  ).toEqual([])
})

it('docs/errors.md lists the sample messages of all error classes', async () => {
  await expect(errorsPage(classes)).toMatchFileSnapshot('../../docs/errors.md')
})
