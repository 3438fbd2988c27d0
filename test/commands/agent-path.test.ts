// Warnings of jfluid agent-path about paths that a JVM cannot use, and the quoting of its option.

import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { AgentPathUnusable, agentOption, pathWarnings, waysToGive } from '../../src/commands/agent-path.ts'
import { temporaryDirectory } from '../support/java-process.ts'

it('agent-path refuses an agent path that the JVM would split into several options', () => {
  expect(agentOption('/opt/jfluid/jfluid-agent.jar')).toBe('-javaagent:/opt/jfluid/jfluid-agent.jar')
  expect(() => agentOption('/opt/version=2/jfluid-agent.jar')).toThrow(AgentPathUnusable)
})

it('agent-path warns about a temporary directory and about a directory that other users cannot enter', () => {
  const home = temporaryDirectory()
  const folder = join(home, 'lib')
  const jar = join(folder, 'jfluid-agent.jar')
  mkdirSync(folder)
  writeFileSync(jar, '')
  for (const it of [home, folder]) chmodSync(it, 0o755)
  chmodSync(jar, 0o644)
  expect(pathWarnings(jar, [])).toEqual([])
  expect(pathWarnings(jar, [`${folder}-2`])).toEqual([])
  expect(pathWarnings(jar, [home])).toEqual([expect.stringContaining('temporary directory')])

  chmodSync(folder, 0o750)
  expect(pathWarnings(jar, [])).toEqual([expect.stringMatching(`^other users cannot read ${folder}`)])
  chmodSync(folder, 0o755)
  chmodSync(jar, 0o600)
  expect(pathWarnings(jar, [])).toEqual([expect.stringMatching(`^other users cannot read ${jar}`)])
})

it('agent-path warns about the npx cache', () => {
  const folder = join(temporaryDirectory(), '_npx', '0a1b', 'dist')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'jfluid-agent.jar'), '')
  expect(pathWarnings(join(folder, 'jfluid-agent.jar'), [])[0]).toContain('temporary directory')
})

it('agent-path warns about an agent path that needs quoting or that some JVMs cannot read', () => {
  const jar = (folder: string): string => {
    const dir = join(temporaryDirectory(), folder)
    mkdirSync(dir, { recursive: true })
    const path = join(dir, 'jfluid-agent.jar')
    writeFileSync(path, '')
    return path
  }
  const doubts = (folder: string) =>
    pathWarnings(jar(folder), []).filter((it) => !it.includes('other users cannot read'))
  expect(doubts('lib')).toEqual([])
  expect(doubts('Büro')).toEqual([expect.stringMatching(/^the path is not plain ASCII: .*locale is C/)])
  expect(doubts('my files')).toEqual([
    expect.stringMatching(/quoted: 'JAVA_TOOL_OPTIONS="-javaagent:.*\/my files\/jfluid-agent.jar"'$/),
  ])
})

it('the environment variable that agent-path prints is one shell word and contains one JVM option', () => {
  const variable = (option: string): string => {
    const line = waysToGive(option).find((it) => it.includes('export'))!
    const script = `${line.replace(/^.*?(?=export)/, '')}; printf %s "$JAVA_TOOL_OPTIONS"`
    return execFileSync('sh', ['-c', script], { encoding: 'utf8' })
  }
  expect(variable('-javaagent:/opt/a.jar')).toBe('-javaagent:/opt/a.jar')
  expect(variable('-javaagent:/my files/a.jar')).toBe('"-javaagent:/my files/a.jar"')
  expect(variable(`-javaagent:/it's/a.jar`)).toBe(`"-javaagent:/it's/a.jar"`)
  expect(variable(`-javaagent:/5" x/a.jar`)).toBe(`-javaagent:/5'"'" x/a.jar"`)
})

it('the Environment= line that agent-path prints for a systemd unit is quoted as systemd expects', () => {
  const unit = (option: string) =>
    waysToGive(option)
      .find((it) => it.startsWith('in a unit'))
      ?.replace(/^.*?(?=Environment)/, '')
  expect(unit('-javaagent:/opt/a.jar')).toBe('Environment=JAVA_TOOL_OPTIONS=-javaagent:/opt/a.jar')
  expect(unit('-javaagent:/my files/50%/a.jar')).toBe(
    'Environment="JAVA_TOOL_OPTIONS=\\"-javaagent:/my files/50%%/a.jar\\""',
  )
})
