import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { userStrings } from './strings.mjs'

const groups = userStrings()

function of(command: string) {
  return groups.filter(({ commands }) => commands.includes(command)).flatMap(({ texts }) => texts)
}

test('the list of user-visible texts names the source file of the texts of doctor', () => {
  expect(of('doctor').filter(({ file }) => file === 'src/commands/doctor.ts').length).toBeGreaterThan(5)
})

test('the list of user-visible texts names each command that prints the texts of a report', () => {
  for (const command of ['record', 'report']) {
    expect(of(command).map(({ file }) => file)).toContain('src/profile/report/facts.ts')
  }
})

test('the list of user-visible texts omits texts of the debug log', () => {
  const calls = readFileSync('src/session/recorder/recorder-worker.ts', 'utf8').match(
    /debug\.\w+\(`[^`]* took/g,
  )
  expect(calls).not.toBeNull()
  const texts = of('record').filter(({ file }) => file === 'src/session/recorder/recorder-worker.ts')
  expect(texts.filter(({ text }) => text.includes(' took '))).toEqual([])
})

test('the list of user-visible texts contains each module once, with all commands that use the module', () => {
  const files = groups.map(({ texts }) => new Set(texts.map(({ file }) => file)))
  for (const [i, some] of files.entries()) {
    for (const others of files.slice(i + 1)) expect([...some].filter((file) => others.has(file))).toEqual([])
  }
})
