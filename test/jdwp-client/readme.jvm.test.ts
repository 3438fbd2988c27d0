// The example of the README runs as a program.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { startDebuggee } from './debuggee.ts'

const root = join(import.meta.dirname, '../..')

it('the example program in the README of the JDWP client works', async () => {
  const readme = readFileSync(join(root, 'src/jdwp-client/README.md'), 'utf8')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>
  }
  const module = join(root, manifest.exports['./jdwp-client']!.default)
  const [, example] = /^```js\n([\s\S]*?)^```/m.exec(readme)!
  const file = join(temporaryDirectory(), 'example.mjs')
  writeFileSync(file, example!.replace("'jfluid/jdwp-client'", `'${pathToFileURL(module)}'`))

  const program = await startDebuggee(newest)
  await program.java.line(/^ready/)
  const run = startProcess(process.execPath, [file, String(await program.port()), 'dbg.*'])
  await run.line(/^waiting/)
  const answer = program.say('call')
  expect((await run.exit).code, run.stderr()).toBe(0)
  expect(run.stdout().trimEnd().split('\n')).toEqual([
    ...[`OpenJDK 64-Bit Server VM, JDWP ${newest.version}`, 'waiting for a call of dbg.*'],
    ...['  Ldbg/Debuggee;done', '  Ldbg/Debuggee;main'],
  ])
  expect(await answer).toBe('returned 44')
})
