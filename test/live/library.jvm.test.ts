// Use of the built package as a library: import … from 'jfluid'.

import { once } from 'node:events'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { beforeAll, describe, expect, it } from 'vitest'
import type * as library from '../../src/index.ts'
import { parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture, compileShop } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newest, newestOrAll } from '../support/jdks.ts'
import { callsByPath, type JsonProfile, lines } from '../support/jfluid.ts'
import { moduleUrl } from '../support/modules.mjs'
import { itInFull } from '../support/only-if.ts'

const root = join(import.meta.dirname, '../..')
/** Imports the built package by its name. The variable keeps the compiler from resolving the name. */
const packageName: string = 'jfluid'
const jfluid = (await import(packageName)) as typeof library

async function asJson(profile: library.Profile): Promise<JsonProfile> {
  let text = ''
  const out = new Writable({
    write(chunk, _, done) {
      text += chunk
      done()
    },
  })
  await jfluid.exportProfile(profile, jfluid.formatNamed('json'), out)
  return JSON.parse(text) as JsonProfile
}

describe.each(newestOrAll)('the library with a JVM of JDK $version', (jdk) => {
  it('the library counts every call, emits snapshots and restores the target', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'KnownTree'), 'fix.KnownTree', '4', '50'])
    await java.line(/ready/)
    const phases: string[] = []
    const attachment = await jfluid.attach(java.pid, {
      root: 'fix.KnownTree.task',
      onPhase: (phase) => phases.push(phase),
    })
    expect(phases).toContain('recording')
    expect(attachment.target.command).toMatch(/^fix\.KnownTree 4 50/)
    java.send('run 1')
    await java.line(/done/)
    const picture = await attachment.picture()
    expect(picture.tree.count).toBeGreaterThan(4)
    const [hottest] = picture.hottest(1)
    // The difference between its hottest methods is only some nanoseconds per call.
    expect(hottest?.name.class).toMatch(/^fix\.KnownTree/)
    const profile = await attachment.detach()
    expect(await attachment.detach()).toBe(profile)
    java.send('expect')
    await java.line(/^end/)
    expect(lines(callsByPath((await asJson(profile)).merged))).toEqual(lines(parseExpectation(java.stdout())))
    // The session has ended, so another session can attach.
    await using again = await jfluid.attach(java.pid, { root: ['fix.KnownTree.task'], mode: 'count' })
    expect((await again.status()).phase).toBe('waiting for root')
  })
})

describe('errors of the library', () => {
  it('the library throws the same errors as the jfluid command', async () => {
    const refused = jfluid.attach(2 ** 31 - 1, { root: 'A.b' })
    await expect(refused).rejects.toBeInstanceOf(jfluid.JfluidError)
    await expect(refused).rejects.toMatchObject({ exitCode: 68 })
    await expect(jfluid.attach(1, {})).rejects.toMatchObject({
      exitCode: 64,
      hint: expect.stringContaining('--root'),
    })
    await expect(jfluid.attach(1, { root: 'A.b', every: '1ms' })).rejects.toMatchObject({ exitCode: 64 })
  })
})

it('the library reports the end of a JVM, ends its snapshots and returns a profile', async () => {
  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/ready/)
  const attachment = await jfluid.attach(java.pid, { root: 'fix.Ticker.work' })
  const ended = once(attachment, 'ended')
  let pictures = 0
  for await (const { status } of attachment.pictures(50)) {
    pictures++
    if (status.events > 1000) await java.kill()
  }
  expect(pictures).toBeGreaterThan(0)
  expect(`${await ended}`).toMatch(/ended/)
  const profile = await attachment.detach()
  expect(profile.truncated).not.toBe(false)
  expect(profile.events.count).toBeGreaterThan(1000)
})

describe('a Node.js program that uses the library', () => {
  let java: JavaProcess
  beforeAll(async () => {
    java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
    await java.line(/ready/)
  })

  itInFull.each([
    ['options for the whole process', ['--expose-gc', '--max-old-space-size=512'], ''],
    [
      'options for the whole process, and NODE_OPTIONS for --eval',
      ['--stack-size=900'],
      '--input-type=module',
    ],
  ])('the library records in a Node.js program started with %s', async (_what, options, NODE_OPTIONS) => {
    const program = `
      import('jfluid').then(async ({ attach }) => {
        const attachment = await attach(${java.pid}, { root: 'fix.Ticker.work' })
        while ((await attachment.status()).events < 1000);
        console.log('profile of', (await attachment.detach()).events.count >= 1000)
      })`
    const env = { NODE_OPTIONS: NODE_OPTIONS || undefined }
    const p = startProcess(process.execPath, [...options, '--eval', program], { cwd: root, env })
    expect([(await p.exit).code, p.stderr(), p.stdout()]).toEqual([0, '', 'profile of true\n'])
  })

  // Must be the last test, since the JVM ends.
  itInFull(
    'an exception in a listener is an uncaught exception of the program, and the profile is kept',
    async () => {
      const program = `
      import { once } from 'node:events'
      import { attach } from 'jfluid'
      process.on('uncaughtException', ({ message }, origin) => console.log(origin, message))
      const attachment = await attach(${java.pid}, { root: 'fix.Ticker.work' })
      attachment.on('ended', () => { throw new Error('of ended') })
      while ((await attachment.status()).events < 1000);
      const ended = once(process, 'uncaughtException')
      process.kill(${java.pid}, 'SIGKILL')
      await ended
      console.log('profile of', (await attachment.detach()).events.count >= 1000)`
      const p = startProcess(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
      const { code } = await p.exit
      expect([code, p.stderr()]).toEqual([0, ''])
      expect(p.stdout().trim().split('\n')).toEqual([...['uncaughtException of ended', 'profile of true']])
    },
  )
})

it('a warning listener that throws does not make the status request fail', async () => {
  const program = `
    import { Attachment } from '${await moduleUrl('library/attachment.js')}'
    process.on('uncaughtException', ({ message }, origin) => console.log(origin, message))
    const session = { ended: new Promise(() => {}), status: async () => ({ warnings: ['one'], events: 7 }) }
    const attachment = new Attachment(session)
    attachment.on('warning', (text) => { throw new Error('of ' + text) })
    const { events } = await attachment.status()
    setImmediate(() => console.log('status of', events))`
  const p = startProcess(process.execPath, ['--input-type=module', '--eval', program])
  expect([(await p.exit).code, p.stderr()]).toEqual([0, ''])
  expect(p.stdout()).toBe('uncaughtException of one\nstatus of 7\n')
})

it('examples/04-library runs as described in its README', async () => {
  const java = startJava(newest, ['-cp', await compileShop(newest), 'shop.Main'])
  await java.line(/./)
  const cwd = temporaryDirectory('jfluid-library-')
  const example = join(root, 'examples/04-library/slowest.mjs')
  const p = startProcess(process.execPath, [example, `${java.pid}`, 'OrderService.process', '1'], { cwd })
  const { code } = await p.exit
  expect([code, p.stderr()]).toEqual([0, expect.not.stringContaining('Error')])
  expect(p.stdout()).toMatch(/ms\nprofile written to slowest\.jfluid\n$/)
  const { mainClass } = (await jfluid.readProfile(join(cwd, 'slowest.jfluid'))).target
  expect(mainClass).toBe('shop.Main')
})
