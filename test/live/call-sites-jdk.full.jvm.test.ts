// --call-sites with JDK methods.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'

forEachJdk((jdk) => {
  it('--call-sites with --jdk records call sites of String and number methods', async () => {
    const file = join(temporaryDirectory('jfluid-sites-'), 'p.jfluid')
    const flags = [
      '--call-sites',
      '--record',
      file,
      '--root',
      'fix.Sites.texts',
      '--mode',
      'count',
      '--jdk',
      '--yes',
    ]
    const program = [jdk.java, '-cp', await compileFixture(jdk, 'Sites'), 'fix.Sites', 'texts']
    const ran = await jfluid('run', ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const { merged } = await readProfileJson(file)
    const source = readFileSync(join(import.meta.dirname, '../fixtures/Sites.java'), 'utf8').split('\n')
    const lineOf = (text: string) => source.findIndex((line) => line.includes(text)) + 1
    const places = new Map(merged[0]!.children.map((it) => [it.method, it.line]))
    const wanted = {
      repeat: '.repeat(3)',
      parseInt: 'parseInt("12")',
      reverse: '.reverse()',
      strip: '.strip()',
    }
    const lines = Object.entries(wanted).map(([method, text]) => [method, lineOf(text)])
    expect(lines.map(([method]) => [method, places.get(String(method))])).toEqual(lines)
  })
})
