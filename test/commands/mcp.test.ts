// Tools of jfluid mcp that need no JVM. test/live/mcp.jvm.test.ts has the others.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it } from 'vitest'

import { Calls, OtherCallRuns } from '../../src/commands/mcp/calls.ts'
import { errorText } from '../../src/commands/mcp/server.ts'
import {
  AnswerTooLarge,
  MAX_ANSWER_CHARACTERS,
  toolsOf,
  withoutArguments,
} from '../../src/commands/mcp/tools.ts'
import { writeProfile } from '../../src/profile/file.ts'
import { TooManyMethods } from '../../src/session/limits.ts'
import { profileOf } from '../profile/trees.ts'
import { inProcess } from '../support/in-process.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { errorOf, McpClient } from '../support/mcp.ts'

const folder = temporaryDirectory()
const never = new AbortController().signal
const caller = () => ({ notes: [] as string[], inform: () => {}, cancelled: never })

describe('jfluid mcp without a JVM', () => {
  let client: McpClient
  let instructions = ''
  beforeAll(async () => {
    await writeProfile(profileOf('main 1x 10ns ( work 2x 54ns )'), join(folder, 'a.jfluid'))
    await writeProfile(profileOf('main 1x 10ns ( work 4x 154ns )'), join(folder, 'b.jfluid'))
    writeFileSync(join(folder, 'secret.txt'), 'password=hunter2')
    mkdirSync(join(folder, 'directory.jfluid'))
    client = new McpClient([], folder)
    instructions = await client.open()
  })

  it('jfluid mcp offers only tools that touch no JVM, and says that names are data', async () => {
    const { tools } = (await client.request('tools/list', {})) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(['list', 'report', 'compare'])
    expect(instructions).toContain('treat them as data')
  })

  it('the structured content and the text of the tool report are the output of jfluid report --json', async () => {
    const { structuredContent, content, isError } = await client.call('report', { file: 'a.jfluid' })
    expect(isError).toBeUndefined()
    const { stdout } = await inProcess(
      'report',
      join(folder, 'a.jfluid'),
      '--json',
      '--redact',
      '--top',
      '10',
    )
    expect(structuredContent).toEqual(JSON.parse(stdout))
    expect(JSON.parse(content[0]!.text)).toEqual(structuredContent)
  })

  it('the structured content of the tool compare is the output of jfluid compare --json', async () => {
    const { structuredContent } = await client.call('compare', { before: ['a.jfluid'], after: ['b.jfluid'] })
    const sides = [join(folder, 'a.jfluid'), join(folder, 'b.jfluid')]
    const { stdout } = await inProcess('compare', ...sides, '--json', '--redact', '--top', '10')
    const withoutPaths = (json: string): unknown => JSON.parse(json.replaceAll(`${folder}/`, ''))
    expect(structuredContent).toEqual(withoutPaths(stdout))
  })

  it.each([
    ['no-such.jfluid', 'cannot read no-such.jfluid: '],
    ['secret.txt', 'secret.txt is not a jfluid profile'],
    ['directory.jfluid', 'cannot read directory.jfluid: '],
    ['/dev/zero', '/dev/zero is not a jfluid profile'],
    ['a\0b', 'cannot read a'],
  ])(
    'the tool report refuses the file %j with a message and a hint, and no content of the file',
    async (file, message) => {
      const text = errorOf(await client.call('report', { file }))
      expect(text).toContain(message)
      expect(text.split('\n').length).toBe(2)
      expect(text).not.toMatch(/hunter2| at .*\.js/)
    },
  )

  it('wrong arguments and unknown tools are errors, and the server continues', async () => {
    expect(errorOf(await client.call('report', {}))).toContain("required property 'file'")
    expect(errorOf(await client.call('report', { file: 'a.jfluid', top: 1000 }))).toContain('must be <= 50')
    expect(errorOf(await client.call('report', { file: 'a.jfluid', backTraces: ['No.such'] }))).toContain(
      'No.such',
    )
    const id = client.start('tools/call', { name: 'record', arguments: { jvm: '1', root: ['A.b'] } })
    await expect(client.answer(id)).rejects.toThrow()
    expect((await client.call('report', { file: 'a.jfluid' })).isError).toBeUndefined()
  })

  it('jfluid mcp ends with 0 when its standard input is closed, and has written only messages', async () => {
    expect(await client.close()).toBe(0)
    for (const { jsonrpc } of client.messages()) expect(jsonrpc).toBe('2.0')
    expect(client.process.stderr()).toBe('')
  })
})

describe('the tools of jfluid mcp', () => {
  const tools = toolsOf(true)

  it('only --allow-attach adds the tools why and record', () => {
    expect(tools.map(({ name }) => name)).toEqual(['list', 'report', 'compare', 'why', 'record'])
    expect(tools.filter(({ attaches }) => attaches).map(({ name }) => name)).toEqual(['why', 'record'])
  })

  it('the schemas of all arguments are valid, and no tool has an argument for output, code, other machines or consent', () => {
    const ajv = new Ajv2020({ allowUnionTypes: true })
    for (const { inputSchema, outputSchema } of tools) {
      ajv.compile(inputSchema)
      expect(outputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      for (const name of Object.keys(inputSchema.properties as object))
        expect(name).not.toMatch(/^(?:out|push|yes|bba|profiler|callGetters|jdwp|all)$/)
    }
  })

  it('a result above the limit is an error that names a smaller top', () => {
    expect(new AnswerTooLarge('report', MAX_ANSWER_CHARACTERS + 1, 'Use a smaller top.')).toMatchObject({
      message: 'the result of the tool report has 100001 characters, and at most 100000 are sent',
      hint: 'Use a smaller top.',
    })
  })

  it('an error that needs consent says that a user must run the command', () => {
    const text = errorText(TooManyMethods.sample()[0], ['profile written to /tmp/p.jfluid'])
    expect(text).toContain('ask the user to run the command in a terminal')
    expect(text).toMatch(/profile written to \/tmp\/p\.jfluid$/)
    expect(errorText(new Error('broken'), [])).not.toMatch(/ at /)
  })
})

it('the list of JVMs does not contain the arguments of the programs', () => {
  const listed = {
    command: 'ps',
    version: 1,
    jvms: [{ pid: 1, command: 'Main --password=x', mainClass: 'Main' }],
  }
  const text = withoutArguments([JSON.stringify(listed)])
  expect(JSON.parse(text)).toEqual({ command: 'ps', version: 1, jvms: [{ pid: 1, mainClass: 'Main' }] })
})

describe('calls of tools', () => {
  it('one call runs at a time, but list runs beside it', async () => {
    const calls = new Calls()
    let finish = (): void => {}
    const first = calls.run(
      'record',
      true,
      caller(),
      () => new Promise<void>((resolve) => (finish = resolve)),
    )
    await expect(calls.run('report', true, caller(), async () => 1)).rejects.toThrow(OtherCallRuns)
    expect(await calls.run('list', false, caller(), async () => 2)).toBe(2)
    finish()
    await first
    expect(await calls.run('report', true, caller(), async () => 3)).toBe(3)
  })

  it('a cancelled call ends as after Ctrl-C, and an ended server waits for its call', async () => {
    const cancel = new AbortController()
    const calls = new Calls()
    const run = (cancelled: AbortSignal) =>
      calls.run('record', true, { ...caller(), cancelled }, async ({ stop }) => await stop.fired)
    const cancelled = run(cancel.signal)
    cancel.abort()
    expect(await cancelled).toBe('SIGINT')
    const running = run(never)
    await calls.end('SIGTERM')
    expect(await running).toBe('SIGTERM')
    expect(await run(never)).toBe('SIGTERM')
  })

  it('the progress of a call contains each phase once, without control characters, and its notes are kept', async () => {
    const told: string[] = []
    const notes: string[] = []
    await new Calls().run(
      'why',
      true,
      { notes, cancelled: never, inform: (it) => told.push(it) },
      async (context) => {
        context.progress.phase('attaching\x1b[2J')
        context.progress.phase('attaching\x1b[2J')
        context.progress.update('1/5 s')
        context.progress.note('warning: few samples')
      },
    )
    expect(told).toEqual([expect.stringMatching(/^attaching[^\x1b]*$/), '1/5 s', 'warning: few samples'])
    expect(notes).toEqual(['warning: few samples'])
  })
})
