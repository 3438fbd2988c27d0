// The JSON output of `jfluid doctor --json`.

import { expect } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { problemsOf } from '../support/schema.ts'

interface Told {
  go: boolean
  exitCode: number
  findings: { check: string; level: string; text: string }[]
  reach?: {
    roots: { root: string; methods: number; classes: string[] }[]
    schemeA: { methods: number; classes: number }
    schemeB: { methods: number; classes: number }
  }
}

export async function start(jdk: Jdk, ...options: string[]): Promise<JavaProcess> {
  const classes = await compileFixture(jdk, 'Ticker')
  const java = startJava(jdk, [...options, '-cp', classes, 'fix.Ticker'])
  await java.line(/^ready/)
  return java
}

export async function doctor(java: JavaProcess, ...flags: string[]): Promise<Told> {
  const { code, stdout, stderr } = await jfluid('doctor', `${java.pid}`, '--json', ...flags)
  expect(stdout, stderr).not.toBe('')
  expect(problemsOf('doctor', stdout)).toEqual([])
  const told = JSON.parse(stdout) as Told
  expect(told.exitCode).toBe(code)
  expect(told.go).toBe(code === 0)
  return told
}

/** Returns the names of checks that found a problem. */
export const problems = ({ findings }: Told): string[] =>
  findings.filter((it) => it.level === 'problem').map((it) => it.check)
