// Each command of the client is in three places: src/wire/messages.ts defines it, the table in the agent's Session maps it to a topic,
// and only the file of this topic executes it.

import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'

const agent = new URL('../../backend-java/agent/jfluid/agent/', import.meta.url)
const sourceOf = (file: string) => readFileSync(new URL(file, agent), 'utf8')

/** Returns the lines of the comment above that begin with the name of a command. Further lines about a command are indented. */
function drawn(): string[] {
  const text = readFileSync(new URL('../../src/wire/messages.ts', import.meta.url), 'utf8')
  const commands = text.slice(text.indexOf('// Commands ('), text.indexOf('// Events:'))
  return [...commands.matchAll(/^\/\/ {3}(\w+)/gm)].map(([, name]) => name!)
}

/** Returns pairs of a command and the name of its topic's class. */
function table(): [string, string][] {
  const session = sourceOf('Session.java')
  return [...session.matchAll(/\btable\((\w+),([^)]+)\);/g)].flatMap(([, variable, commands]) => {
    const topic = new RegExp(`\\b${variable} =\\s+new (\\w+)\\(`).exec(session)![1]!
    return [...commands!.matchAll(/"(\w+)"/g)].map(([, command]): [string, string] => [command!, topic])
  })
}

describe('commands of the client', () => {
  const topics = readdirSync(agent)
    .filter((file) => sourceOf(file).includes(' extends Topic '))
    .map((file) => basename(file, '.java'))

  it('the agent registers exactly the commands in messages.ts, each command once', () => {
    expect(drawn().length).toBeGreaterThan(25)
    expect(
      table()
        .map(([command]) => command)
        .sort(),
    ).toEqual(drawn().sort())
  })

  it('each Java class that handles commands handles only commands in messages.ts', () => {
    const cases = topics.flatMap((it) =>
      [...sourceOf(`${it}.java`).matchAll(/\bcase "(\w+)":/g)].map(([, command]) => command!),
    )
    const known = new Set(table().map(([command]) => command))
    expect(cases.filter((it) => !known.has(it))).toEqual([])
  })

  it.each(table())('the command %s is handled in %s.java', (command, topic) => {
    const doing = topics.filter((it) => sourceOf(`${it}.java`).includes(`case "${command}":`))
    expect(doing).toEqual([topic])
  })
})
