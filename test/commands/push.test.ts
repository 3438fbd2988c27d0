// jfluid push, and the options that record --push refuses before it looks for a JVM.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Destination, type DestinationFlags, keptIn } from '../../src/commands/destination.ts'
import { warnAboutStore } from '../../src/commands/push-options.ts'
import { checkOwnOptions } from '../../src/options/refusals.ts'
import { readProfile, writeProfile } from '../../src/profile/file.ts'
import { parseLabels } from '../../src/push/identity.ts'
import { credentials, parseStore } from '../../src/push/store.ts'
import { REGION } from '../profile/region.ts'
import { profileOf } from '../profile/trees.ts'
import { ingested, startStore } from '../push/stores.ts'
import { inProcessIn } from '../support/in-process.ts'
import { startProcess } from '../support/java-process.ts'
import { cli, type Ran } from '../support/jfluid.ts'
import { neverStops } from './never-stops.ts'

const PROFILE = profileOf('main 1x 10ns ( work 2x 54ns )')
const EMPTY = profileOf('', { events: { count: 0, waitMs: 0 }, warnings: ['no root was called'] })

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'jfluid-push-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function jfluid(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return inProcessIn({ cwd: directory, env }, ...args)
}

async function fileOf(profile = PROFILE): Promise<string> {
  const path = join(directory, 'p.jfluid')
  await writeProfile(profile, path)
  return path
}

describe('the command jfluid push', () => {
  it('push uploads a profile and sends the token from the environment', async () => {
    const store = await startStore()
    const args = [
      'push',
      await fileOf(),
      '--to',
      store.url,
      '--label',
      'service_name=shop',
      '--label',
      'pid=',
    ]
    const { code, stdout, stderr } = await jfluid(args, { JFLUID_PUSH_TOKEN: 'ey-secret' })
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toBe(`pushing to ${store.url}/ingest\npushed to ${store.url}/ingest as shop{mode=exact}\n`)
    const [request] = store.received
    expect(request!.headers.authorization).toBe('Bearer ey-secret')
    const { samples } = await ingested(request!)
    expect(samples.map(({ values }) => values)).toEqual([
      [1, 10],
      [2, 54],
    ])
  })

  it('push prints that OTLP is experimental', async () => {
    const store = await startStore()
    const { code, stderr } = await jfluid(['push', await fileOf(), '--to', `otlp+${store.url}`])
    expect([code, store.received[0]?.url.pathname]).toEqual([0, '/v1development/profiles'])
    expect(stderr).toMatch(/^OTLP support is experimental: /)
  })

  it('a push without permission exits with 77, names the variable to set and never prints the token', async () => {
    const store = await startStore((response) => response.writeHead(401).end())
    const args = ['push', await fileOf(), '--to', store.url]
    const without = await jfluid(args)
    expect(without).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('Set JFLUID_PUSH_TOKEN') as string,
    })
    const wrong = await jfluid(args, { JFLUID_PUSH_TOKEN: 'ey-secret' })
    expect(wrong).toMatchObject({
      code: 77,
      stderr: expect.stringContaining('Check JFLUID_PUSH_TOKEN') as string,
    })
    expect(wrong.stderr).not.toContain('ey-secret')
  })

  it('push sends no profile that the store cannot use', async () => {
    const store = await startStore()
    const told = async (args: readonly string[]) => {
      const { code, stderr } = await jfluid([...args, '--to', store.url])
      return `${code} ${stderr.split('\n')[0]}`
    }
    expect(await told(['push', await fileOf(EMPTY)])).toMatch(
      /^65 .*nothing to push: .* is empty, because no root was called$/,
    )
    const regions = await fileOf({ ...PROFILE, regions: [REGION] })
    expect(await told(['push', regions])).toMatch(/^64 .*times of regions, and no tree/)
    expect(await told(['push', 'none.jfluid'])).toMatch(/^66 /)
    expect(store.received).toHaveLength(0)
  })

  it('push warns when other parties can read the token', () => {
    const told = (url: string, env: Record<string, string>): string[] => {
      const lines: string[] = []
      const to = { store: parseStore(url), labels: parseLabels([]), credentials: credentials(env) }
      warnAboutStore(to, (line) => lines.push(line))
      return lines
    }
    const token = { JFLUID_PUSH_TOKEN: 'x' }
    expect(told('http://store:4040', token)[0]).toMatch(
      /^warning: http:\/\/store:4040\/ingest is not encrypted/,
    )
    for (const url of ['http://localhost:4040', 'http://127.0.0.1', 'http://[::1]:1', 'https://store']) {
      expect(told(url, token)).toEqual([])
    }
    expect(told('http://store:4040', {})).toEqual([])
  })
})

describe('record with invalid destination options', () => {
  const refusal = (flags: DestinationFlags): string => {
    try {
      Destination.check(flags)
      return 'nothing'
    } catch (error) {
      const { name, exitCode } = error as Error & { exitCode: number }
      return `${name} ${exitCode}`
    }
  }

  it('record is refused if neither an output file nor a store is given', () => {
    expect(refusal({})).toBe('NowhereToPut 64')
    expect(refusal({ out: 'p' })).toBe('nothing')
    expect(refusal({ push: 'http://h' })).toBe('nothing')
    expect(refusal({ out: 'p', push: 'http://h', label: ['a=b', 'service_name=x'] })).toBe('nothing')
    expect(refusal({ push: 'ftp://h' })).toBe('BadPushUrl 64')
  })

  it.each([
    [{ out: 'p', label: ['a=b'] }, '--label needs --push'],
    [{ push: 'http://h', region: ['A.b:1-2'] }, '--push cannot be combined with --region'],
  ])(
    'record refuses %j, since labels need a store and regions cannot be pushed to a store',
    (flags, message) => {
      expect(() => checkOwnOptions('record', flags)).toThrow(message)
      expect(() => checkOwnOptions('record', { out: 'p', region: ['A.b:1-2'] })).not.toThrow()
    },
  )
})

describe('a recording with --push', () => {
  const told: string[] = []
  async function put(flags: DestinationFlags, profile = PROFILE, pid = 4711) {
    told.length = 0
    const tell = (line: string) => told.push(line)
    const destination = await Destination.of(flags, Destination.check(flags), pid, tell)
    return await destination.put(profile, () => {}, neverStops)
  }
  const file = () => join(directory, 'out.jfluid')

  it('a recording with --push is written to the file and pushed to the store', async () => {
    const store = await startStore()
    const done = await put({ out: file(), push: store.url })
    expect(done).toMatchObject({ path: file(), store: `${store.url}/ingest`, problem: null })
    expect(done.lines[0]).toBe(`pushed to ${store.url}/ingest as com.acme.Main{pid=4711,mode=exact}`)
    expect(done.lines[1]).toMatch(/^profile written to .*out\.jfluid/)
    expect((await readProfile(file())).events.count).toBe(PROFILE.events.count)
    expect(keptIn(done)).toBe(file())
  })

  it('if the store refuses a recording with --push, the profile is in the file, and the error names the command that pushes the file', async () => {
    const store = await startStore((response) => response.writeHead(403).end())
    const { problem, path } = await put({ out: file(), push: store.url })
    expect(path).toBe(file())
    expect(problem).toMatchObject({ name: 'ProfileNotPushed', exitCode: 77 })
    expect(problem!.message).toMatch(/HTTP 403; the profile is in .*out\.jfluid$/)
    expect(problem!.hint).toContain(`Then: jfluid push ${file()} --to ${store.url}`)
  })

  it('the command in the error of a failed --push pushes the profile with its labels', async () => {
    let code = 403
    const store = await startStore((response) => response.writeHead(code).end())
    const naming = { label: ['service_name=shop/checkout', 'env=prod', 'note=a b', 'pid='] }
    const { problem } = await put({ out: file(), push: `${store.url}?key=secret`, ...naming })
    const [, command] = problem!.hint.split(/Then, with the query part of the URL added: jfluid /)
    expect(problem!.hint).not.toContain('secret')
    code = 200
    const p = startProcess('/bin/sh', ['-c', `${process.execPath} ${cli} ${command}`], { cwd: directory })
    expect((await p.exit).code, p.stderr()).toBe(0)
    const [first, second] = store.received.map(({ url }) => url.searchParams.get('name'))
    expect(first).toBe('shop/checkout{mode=exact,env=prod,note=a b}')
    expect(second).toBe(first)
  })

  it('a recording with --push succeeds if the store accepts the profile but the temporary file cannot be deleted', async () => {
    const pid = 4_000_000_000 + process.pid // a unique id, since the file is in a directory that all tests share
    const mine = () => readdirSync('.').filter((name) => name.startsWith(`jfluid-${pid}-`))
    const store = await startStore((response) => {
      const [name] = mine()
      rmSync(name!)
      mkdirSync(name!) // a directory, which cannot be removed like a file
      response.end()
    })
    const { path, problem, lines } = await put({ push: store.url }, PROFILE, pid)
    expect(problem).toBe(null)
    expect(lines[0]).toMatch(/^pushed to /)
    expect(lines[1]).toBe(`the profile is also in ${path}, which cannot be removed: ERR_FS_EISDIR`)
    expect(mine()).toEqual([path])
    rmdirSync(path!)
  })

  it('a recording with --push is pushed to the store even if the file cannot be written', async () => {
    const store = await startStore()
    const { problem, path, store: has } = await put({ out: '/dev/full', push: store.url })
    expect(problem).toMatchObject({ name: 'ProfilePutElsewhere', exitCode: 73 })
    expect([has, store.received.length]).toEqual([`${store.url}/ingest`, 1])
    // Besides the error, the user sees only this line.
    expect(told).toEqual([`pushed to ${store.url}/ingest as com.acme.Main{pid=4711,mode=exact}`])
    rmSync(dirname(path!), { recursive: true })
  })

  it('if neither the file nor the store accepts a recording with --push, the recording is written to another directory, and both errors are reported', async () => {
    const store = await startStore((response) => response.writeHead(403).end())
    const { problem, path } = await put({ out: '/dev/full', push: store.url })
    expect(problem).toMatchObject({ name: 'ProfilePutElsewhere', exitCode: 73 })
    expect(told.at(-1)).toMatch(/HTTP 403$/)
    expect(existsSync(path!)).toBe(true)
    rmSync(dirname(path!), { recursive: true })
  })

  it('an empty recording with --push is not pushed, and its warnings are kept in the file', async () => {
    const store = await startStore()
    const { lines, problem, path } = await put({ out: file(), push: store.url }, EMPTY)
    expect([problem, path, store.received.length]).toEqual([null, file(), 0])
    expect(lines[0]).toBe('nothing was recorded, so nothing is pushed')
    expect((await readProfile(file())).warnings).toEqual(['no root was called'])
  })

  it('a recording with --push deletes its temporary directory', () => {
    expect(readdirSync(directory)).toEqual([])
  })
})
