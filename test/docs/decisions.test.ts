// docs/decisions: each file has a number, a status and a decision. The index is generated from these files.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'docs/decisions')

interface Decision {
  readonly file: string
  readonly number: number
  readonly title: string
  readonly status: string
  readonly text: string
}

const STATUS = /^(accepted|(partly )?superseded by \d+(, \d+)*|rejected) \(\d{4}-\d{2}\)$/

const decisions: Decision[] = readdirSync(folder)
  .filter((file) => file !== 'README.md')
  .sort()
  .map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const [, number, title, status] = /^# (\d+): (.+)\n\nStatus: (.+)\n/.exec(text) ?? []
    return { file, number: Number(number), title: title ?? '', status: status ?? '', text }
  })

function index(): string {
  const rows = decisions.map(
    ({ file, number, title, status }) =>
      `| [${number}](${file}) | ${title} | ${status.replace(/ \(.*/, '')} |`,
  )
  return `# Decisions

Each file has one decision: context, decision, reason, cost, and what was rejected. A decision that turned out wrong stays, with the number
of the decision that supersedes it. Measurements are from OpenJDK 17.0.15 and Temurin 25.0.3 on Linux x86-64 unless the text names another JVM.
Code and documents refer to a decision by its number: \`decision 45\`. A new decision is a new file with the next number; this index is generated
by \`npx vitest run --project unit test/docs/decisions.test.ts -u\`.

| number | title | status |
| --- | --- | --- |
${rows.join('\n')}
`
}

describe('the decision records in docs/decisions', () => {
  it('files in docs/decisions have consecutive numbers, and the file name and heading have the same number', () => {
    for (const [i, { file, number }] of decisions.entries()) {
      expect(number, file).toBe(i + 1)
      expect(file).toMatch(new RegExp(`^${String(i + 1).padStart(4, '0')}-[a-z0-9-]+\\.md$`))
    }
  })

  it.each(decisions)('decision record $file has a status and a decision', ({ number, status, text }) => {
    expect(status).toMatch(STATUS)
    expect(text).toContain('**Decision:**')
    for (const [by] of status.replace(/\(.*/, '').matchAll(/\d+/g)) {
      expect(Number(by)).toBeGreaterThan(number)
      expect(Number(by)).toBeLessThanOrEqual(decisions.length)
    }
  })

  it('the index of docs/decisions lists all decision records', async () => {
    await expect(index()).toMatchFileSnapshot('../../docs/decisions/README.md')
  })

  it('each decision number named in code or documents exists', () => {
    const named = ['src', 'backend-java', 'test', 'docs'].flatMap((top) =>
      readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.(ts|tsx|mjs|java|md)$/.test(file))
        .flatMap((file) =>
          [...readFileSync(join(root, top, file), 'utf8').matchAll(/\bdecisions? (\d+)/gi)].map(
            ([, number]) => ({
              file: join(top, file),
              number: Number(number),
            }),
          ),
        ),
    )
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter(({ number }) => number < 1 || number > decisions.length)).toEqual([])
  })
})
