// Compares statements in the documents with the program.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { HEAP_NEEDED, METASPACE_NEEDED } from '../../src/attach/memory-room.ts'
import { DESCRIPTORS_NEEDED, THREADS_NEEDED } from '../../src/attach/room.ts'
import { TOPICS } from '../../src/base/debug.ts'
import * as codes from '../../src/base/errors.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { CHUNK_BYTES, CHUNK_COUNT } from '../../src/session/recorder/buffer-size.ts'
import { BINDINGS } from '../../src/tui/keys.ts'
import { profileWithEveryKey } from '../profile/every-key.ts'
import { inProcess } from '../support/in-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const DOCS = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => `docs/${file}`)
  .sort()
const CHAPTERS = DOCS.filter((file) => !file.startsWith('docs/decisions/'))
const DOCUMENTS = [
  'README.md',
  ...DOCS,
  'TROUBLESHOOTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `src/${file}`),
  'backend-java/README.md',
  'examples/README.md',
  ...['01-shop', '02-gate', '03-profiler', '04-library'].map((example) => `examples/${example}/README.md`),
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...['bench/RESULTS.md', 'faults/RESULTS.md', 'instrument/CORPUS.md'].map((figures) => `test/${figures}`),
]
const readme = read('README.md')
const trouble = read('TROUBLESHOOTING.md')

const sources = ['src', 'backend-java'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|java|mjs)$/.test(file))
    .map((file) => ({ path: join(folder, file), text: read(join(folder, file)) })),
)

/** Returns the rows of all tables whose head starts with `head`, in text order. Cells have no padding. */
function rows(text: string, head: string): string[][] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    if (!line.startsWith(head)) return []
    const below = lines.slice(at + 2)
    const end = below.findIndex((row) => !row.startsWith('|'))
    return below.slice(0, end < 0 ? undefined : end).map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
  })
}

const unquoted = (cell: string): string => cell.replaceAll('`', '')

/** Returns the words of each line in a document's code blocks that runs jfluid. */
function commandLines(document: string): string[][] {
  return [...read(document).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, language]) => language === '' || language === 'sh')
    .flatMap(([, , block]) => block!.split('\n'))
    .filter((line) => /^(?:npx )?jfluid /.test(line))
    .map((line) => [...line.replace(/\s[#|].*/, '').matchAll(/'[^']*'|\S+/g)].map((word) => word[0]))
    .map((words) => words.slice(words.indexOf('jfluid') + 1))
}

const { stdout: HELP } = await inProcess('--help')

describe('jfluid commands in the documents', () => {
  const commands = [...HELP.matchAll(/^ {2}([a-z-]+) (?:\[options\]|<| {2})/gm)]
    .map((match) => match[1]!)
    .filter((command) => command !== 'jfluid')
  const helps = new Map<string, string>()
  beforeAll(async () => {
    for (const it of commands) helps.set(it, (await inProcess(it, '--help')).stdout)
  })

  it.each(DOCUMENTS)('jfluid commands shown in %s exist, with all shown options', (document) => {
    for (const [command, ...words] of commandLines(document)) {
      if (command === '--help') continue
      expect(commands).toContain(command)
      const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
      for (const option of own.filter((word) => word.startsWith('-'))) {
        expect(helps.get(command!), `jfluid ${command} ${option}`).toMatch(new RegExp(`${option}[ ,]`))
      }
    }
  })

  it('the table in docs/commands.md lists all commands', () => {
    const documented = rows(read('docs/commands.md'), '| command |').map(
      ([cell]) => unquoted(cell!).split(' ')[0],
    )
    expect(documented.sort()).toEqual([...commands].sort())
  })
})

it('each npm script named in the documents exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const document of DOCUMENTS) {
    for (const [, name] of read(document).matchAll(/npm run (?:--\S+ )?([a-z:]+)/g)) {
      expect(Object.keys(scripts), document).toContain(name)
    }
  }
})

it('the documented key table equals the key bindings of the live view', () => {
  const documented = rows(read('docs/live-view.md'), '| key | does |').map(([key, does]) => [
    unquoted(key!),
    does!,
  ])
  const actual = BINDINGS.filter((b) => b.label !== '').map((b) => [b.label, b.help])
  expect(documented).toEqual(actual)
})

it('the documented debug topics equal the topics in the program', () => {
  const documented = rows(read('CONTRIBUTING.md'), '| topic | contents |')
  expect(documented.map(([topic, contents]) => [unquoted(topic!), contents!.replaceAll('`', '')])).toEqual(
    Object.entries(TOPICS),
  )
})

describe('exit codes in the documents', () => {
  const codeOf = new Map(Object.entries(codes).filter(([name]) => name.startsWith('EX_')))
  it('the documented table of exit codes matches the error classes', () => {
    const used = new Set([codes.EX_SOFTWARE]) // internal errors, cli.ts
    for (const { path, text } of sources) {
      if (!path.endsWith('build.mjs')) continue
      for (const [, code] of text.matchAll(/exit\((\d+)\)/g)) used.add(Number(code))
    }
    for (const { path, text } of sources) {
      if (path.endsWith('base/errors.ts') || !path.endsWith('.ts')) continue
      for (const [name] of text.matchAll(/\bEX_[A-Z]+\b/g)) used.add(codeOf.get(name) as number)
    }
    const documented = rows(read('docs/exit-codes.md'), '| code | meaning |').map(([code]) => Number(code))
    expect(documented).toEqual([0, ...[...used].sort((a, b) => a - b)])
    expect(new Set(codeOf.values()).size).toBe(codeOf.size)
  })
})

describe('the document TROUBLESHOOTING.md', () => {
  const quoted = [
    ...[...trouble.matchAll(/^> (.+)$/gm)].map(([, line]) => line!),
    ...['| message |', '| warning |', '| reason |'].flatMap((head) =>
      rows(trouble, head).map(([cell]) => cell!),
    ),
  ].flatMap((text) => [...text.matchAll(/`([^`]+)`/g)].map(([, quote]) => quote!))

  it.each(quoted)('TROUBLESHOOTING.md quotes a message that jfluid prints: %s', (quote) => {
    const pieces = quote.split(/<[^>]*>/).filter((piece) => piece.trim().length > 2)
    const origin = sources.find(({ text }) => pieces.every((piece) => text.includes(piece)))
    expect(origin, `no source has ${JSON.stringify(pieces)}`).toBeDefined()
  })

  it('TROUBLESHOOTING.md contains a command or a table for each symptom', () => {
    const sections = trouble.split(/^(?=##+ )/m).filter((text) => text.startsWith('### '))
    expect(sections.length).toBeGreaterThan(25)
    expect(sections.filter((text) => !/^(```|\|)/m.test(text)).map((text) => text.split('\n')[0])).toEqual([])
  })

  it('TROUBLESHOOTING.md names only existing exit codes', () => {
    const documented = rows(read('docs/exit-codes.md'), '| code | meaning |').map(([code]) => code)
    for (const [, code] of trouble.matchAll(/exit code (\d+)/gi)) expect(documented).toContain(code)
  })
})

it('the documented JSON keys equal the keys of a JSON export', () => {
  const found = new Set<string>()
  const visit = (value: unknown, path: string): void => {
    const node = /(?:merged|roots|children)\[\]$/.test(path) && typeof value === 'object'
    if (Array.isArray(value)) {
      found.add(`${path}[]`)
      for (const item of value) visit(item, `${path}[]`)
    } else if (typeof value === 'object' && value !== null) {
      const prefix = node ? 'node.' : path === '' ? '' : `${path}.`
      for (const [key, inner] of Object.entries(value)) visit(inner, prefix + key)
    } else if (!path.endsWith('[]')) found.add(path)
  }
  visit(JSON.parse([...jsonPieces(profileWithEveryKey())].join('')), '')
  const documented = rows(read('docs/profile-json.md'), '| key | type |').map(([key]) => unquoted(key!))
  // An array of objects needs no row if its members have rows.
  const objects =
    /^(instrumentation\.(skipped|overflows)|jvms|threads|rootCalls\.threw|slowCalls\.slowest|stacks\.pauses|regions|regions\[\]\.buckets|regions\[\]\.intervals)\[\]$/
  // The members of slowCalls.threw[] are those of slowCalls.slowest[].
  const paths = [...found].filter((path) => !objects.test(path) && !path.startsWith('slowCalls.threw[].'))
  expect([...documented].sort()).toEqual(paths.sort())
})

/** Returns a document without its code, in which `#` starts no heading and brackets are no links. */
const prose = (text: string): string =>
  text.replace(/^ *```[\s\S]*?^ *```$/gm, '').replace(/`[^`\n]*`\n?/g, (code) => code.replace(/[[\]()]/g, ''))

/** Returns the anchors of a document's headings as GitHub creates them: a repeated anchor gets a number. */
function anchors(text: string): string[] {
  const times = new Map<string, number>()
  return [...prose(text).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => {
    const slug = heading!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const before = times.get(slug) ?? 0
    times.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  })
}

/** Returns the targets of a document's links within the repository: a file and an optional anchor. */
function links(document: string): { file: string; anchor: string | undefined }[] {
  return [...prose(read(document)).matchAll(/\]\(([^)\s]+)\)/g)]
    .filter(([, target]) => !/^https?:/.test(target!))
    .map(([, target]) => {
      const [path, anchor] = target!.split('#')
      return { file: path === '' ? document : join(dirname(document), path!), anchor }
    })
}

describe('links and file names in the documents', () => {
  const everyFile = new Set(
    ['src', 'test', 'backend-java', 'examples', 'docs']
      .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }))
      .flatMap((file) => [file, file.split('/').at(-1)!]),
  )

  it.each(DOCUMENTS)('links of %s lead to existing files and headings', (document) => {
    const lost = links(document).filter(
      ({ file, anchor }) =>
        !existsSync(join(root, file)) || (anchor !== undefined && !anchors(read(file)).includes(anchor)),
    )
    expect(lost).toEqual([])
  })

  it.each(DOCUMENTS)('each file named in %s exists', (document) => {
    const names = [...read(document).matchAll(/`([\w./-]+\.(?:ts|java|mjs|md))`/g)].map(([, name]) => name!)
    const lost = names.filter(
      (name) =>
        !existsSync(join(root, name)) &&
        !existsSync(join(root, dirname(document), name)) &&
        !everyFile.has(name.replace(/^\.\//, '')),
    )
    expect(lost).toEqual([])
  })

  it('chapters of the manual that are named in sources and tests exist', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ path: `test/${file}`, text: read(`test/${file}`) }))
    const named = [...sources, ...tests].flatMap(({ path, text }) =>
      [...text.matchAll(/(?<![\w/])docs\/[\w-]+\.md\b/g)].map(([name]) => ({ path, name })),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(({ name }) => !existsSync(join(root, name)))).toEqual([])
  })
})

describe('the manual (README.md and docs)', () => {
  const headings = (text: string): string[] => anchors(text).slice(1)

  it('README.md has at most 200 lines', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(200)
  })

  it('the picture in README.md has the columns and the key line of the live view', () => {
    const picture = read('docs/live-view.svg').replace(/<[^>]*>/g, '')
    for (const text of ['total', 'self', '% root', 'calls', 'per call', 'method', 'instrumented', 'quit']) {
      expect(picture).toContain(text)
    }
  })

  it('every chapter of the manual is reachable by links from README.md', () => {
    const led = new Set(links('README.md').map(({ file }) => file))
    expect(CHAPTERS.filter((chapter) => !led.has(chapter))).toEqual([])
  })

  it('the manual has an index of all chapters and sections, in order', () => {
    const index = links('docs/README.md').filter(({ file }) => dirname(file) === 'docs')
    const chapters = [...new Set(index.map(({ file }) => file))]
    expect([...chapters].sort()).toEqual(CHAPTERS.filter((chapter) => chapter !== 'docs/README.md'))
    expect(index).toEqual(
      chapters.flatMap((file) => [undefined, ...headings(read(file))].map((anchor) => ({ file, anchor }))),
    )
  })
})

describe('limits in docs/target.md', () => {
  const target = read('docs/target.md')
  const java = (file: string, name: string): number =>
    Number(new RegExp(`${name} = ([\\d_]+)`).exec(read(`backend-java/${file}`))?.[1]?.replaceAll('_', ''))
  const client = (name: string) => java('runtime/java/lang/JFluid1Client.java', name) / 1e6

  it('timeouts documented in docs/target.md equal the timeouts of agent and runtime', () => {
    const [silentMs, starvingMs] = ['SILENT', 'STARVING'].map((who) => client(`${who}_CLIENT_TIMEOUT_NANOS`))
    expect(target).toContain(`waits up to ${silentMs} ms for a client without a heartbeat.`)
    expect(target).toContain(`up to ${starvingMs! / 1e3} s after its last heartbeat`)
    expect(target).toContain(
      `Each wait of a thread has a timeout of ${client('ANSWER_TIMEOUT_NANOS') / 1e3} s`,
    )
    expect(target).toContain(
      `answer of the client has a timeout of ${client('STARTED_ANSWER_TIMEOUT_NANOS') / 1e3} s`,
    )
    expect(target).toContain(`checks the client's process ${client('CHECK_CLIENT_AFTER_NANOS')} ms after`)
    const silent = java('agent/jfluid/agent/ClientProcess.java', 'SILENT_CLIENT_TIMEOUT_SECONDS')
    expect(target).toContain(`sends no message for ${silent} s, ends the session`)
  })

  it('docs/target.md states the resources that the client requires for an attach, and the size of the event buffer', () => {
    expect(rows(target, '| the JVM has').map(([has]) => /\d+/.exec(has!)?.[0])).toEqual(
      [THREADS_NEEDED, DESCRIPTORS_NEEDED, METASPACE_NEEDED >> 20, HEAP_NEEDED >> 20].map(String),
    )
    expect(target).toContain(`| mapped buffer | ${(CHUNK_BYTES * CHUNK_COUNT) >> 20} MiB, up to 72 MiB`)
  })
})
