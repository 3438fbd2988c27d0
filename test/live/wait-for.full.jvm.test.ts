// --wait-for by a user who does not own the JVM. Needs root.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { compileJava, startJava } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'
import { cli } from '../support/jfluid.ts'
import { nameOf, sourceOf } from './wait-for-program.ts'

it('--wait-for reports a JVM of another user and does not attach to that JVM', async () => {
  const name = nameOf('Theirs')
  const classes = await compileJava(newest, { [`fix/${name}.java`]: sourceOf(name) })
  const java = startJava(newest, ['-cp', classes, `fix.${name}`])
  await java.line(/^ready/)
  const wait = ['record', '--wait-for', name, '--wait-timeout', '1s', '--root', 'A.b', '--out', '/dev/null']
  const nobody = { uid: 65534, gid: 65534, cwd: '/' }
  const client = spawn(process.execPath, [cli, ...wait], nobody)
  let said = ''
  client.stderr.on('data', (text) => {
    said += text
  })
  const [code] = await once(client, 'exit')
  expect(code, said).toBe(68)
  expect(said).toContain(`JVM ${java.pid} belongs to root`)
  expect(said).toContain(`no JVM with the main class '${name}' was started within 1s`)
})
