import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

it('the inputs of the GitHub Action are the options of ci/jfluid-ci.sh, and its only step calls the script', () => {
  const action = read('action.yml')
  const listed = action.slice(action.indexOf('inputs:'), action.indexOf('runs:'))
  const inputs = [...listed.matchAll(/^ {2}([a-z]+):$/gm)].map(([, name]) => name!)
  const options = [...read('ci/jfluid-ci.sh').matchAll(/^ {2}--([a-z]+) </gm)].map(([, name]) => name!)
  expect(inputs.filter((it) => it !== 'command').sort()).toEqual(options.sort())
  expect(action.match(/^ {4}- /gm)).toHaveLength(1)
  for (const name of options) expect(action).toContain(`--${name} "$${name.toUpperCase()}"`)
})
