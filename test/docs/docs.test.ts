// Compares statements in the documents with the program.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { HEAP_NEEDED, METASPACE_NEEDED } from '../../src/attach/memory-room.ts'
import { DESCRIPTORS_NEEDED, THREADS_NEEDED } from '../../src/attach/room.ts'
import { TOPICS } from '../../src/base/debug.ts'
import * as codes from '../../src/base/errors.ts'
import { STATE_COLUMNS, UNKNOWN_STATE } from '../../src/cct/picture.ts'
import { UNSEEN } from '../../src/cct/unseen.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { jvmFacts } from '../../src/profile/together.ts'
import { CHUNK_BYTES, CHUNK_COUNT } from '../../src/session/recorder/buffer-size.ts'
import { BINDINGS } from '../../src/tui/keys.ts'
import { REGION } from '../profile/region.ts'
import { slowCallsOf, TIMED } from '../profile/root-calls.ts'
import { callOf } from '../profile/traced.ts'
import { Methods, profileOf } from '../profile/trees.ts'
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
/** Text in either of these two documents counts as documented for users. */
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

describe('commands in the documents', () => {
  const commands = [...HELP.matchAll(/^ {2}([a-z-]+) (?:\[options\]|<| {2})/gm)]
    .map((match) => match[1]!)
    .filter((command) => command !== 'jfluid')
  const helps = new Map<string, string>()
  beforeAll(async () => {
    for (const it of commands) helps.set(it, (await inProcess(it, '--help')).stdout)
  })

  it.each(DOCUMENTS)('commands in %s exist, with all their options', (document) => {
    for (const [command, ...words] of commandLines(document)) {
      if (command === '--help') continue
      expect(commands).toContain(command)
      const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
      for (const option of own.filter((word) => word.startsWith('-'))) {
        expect(helps.get(command!), `jfluid ${command} ${option}`).toMatch(new RegExp(`${option}[ ,]`))
      }
    }
  })

  it('all commands are in the table of the README', () => {
    const documented = rows(readme, '| command |').map(([cell]) => unquoted(cell!).split(' ')[0])
    expect(documented.sort()).toEqual([...commands].sort())
  })
})

it('npm scripts that the documents name exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const document of DOCUMENTS) {
    for (const [, name] of read(document).matchAll(/npm run (?:--\S+ )?([a-z:]+)/g)) {
      expect(Object.keys(scripts), document).toContain(name)
    }
  }
})

it('the documented key table equals that of the live view', () => {
  const documented = rows(read('docs/live-view.md'), '| key | does |').map(([key, does]) => [
    unquoted(key!),
    does!,
  ])
  const actual = BINDINGS.filter((b) => b.label !== '').map((b) => [b.label, b.help])
  expect(documented).toEqual(actual)
})

it('the documented debug topics equal those of the program', () => {
  const documented = rows(read('CONTRIBUTING.md'), '| topic | contents |')
  expect(documented.map(([topic, contents]) => [unquoted(topic!), contents!.replaceAll('`', '')])).toEqual(
    Object.entries(TOPICS),
  )
})

describe('exit codes in the documents', () => {
  const codeOf = new Map(Object.entries(codes).filter(([name]) => name.startsWith('EX_')))
  it('the table of exit codes matches the error classes', () => {
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

describe('TROUBLESHOOTING.md', () => {
  const quoted = [
    ...[...trouble.matchAll(/^> (.+)$/gm)].map(([, line]) => line!),
    ...['| message |', '| warning |', '| reason |'].flatMap((head) =>
      rows(trouble, head).map(([cell]) => cell!),
    ),
  ].flatMap((text) => [...text.matchAll(/`([^`]+)`/g)].map(([, quote]) => quote!))

  it.each(quoted)('TROUBLESHOOTING.md quotes an existing message: %s', (quote) => {
    const pieces = quote.split(/<[^>]*>/).filter((piece) => piece.trim().length > 2)
    const origin = sources.find(({ text }) => pieces.every((piece) => text.includes(piece)))
    expect(origin, `no source has ${JSON.stringify(pieces)}`).toBeDefined()
  })

  it('TROUBLESHOOTING.md has a command or a table for each symptom', () => {
    const sections = trouble.split(/^(?=##+ )/m).filter((text) => text.startsWith('### '))
    expect(sections.length).toBeGreaterThan(25)
    expect(sections.filter((text) => !/^(```|\|)/m.test(text)).map((text) => text.split('\n')[0])).toEqual([])
  })

  it('TROUBLESHOOTING.md names only existing exit codes', () => {
    const documented = rows(read('docs/exit-codes.md'), '| code | meaning |').map(([code]) => code)
    for (const [, code] of trouble.matchAll(/exit code (\d+)/gi)) expect(documented).toContain(code)
  })
})

it('the documented JSON keys equal those of an export', () => {
  const profile = profileOf('main 2x 10ns ( work 3x -4ns )', { warnings: ['one'] })
  const full = {
    ...profile,
    jvms: [jvmFacts(profile)],
    callSites: true as const,
    methodNames: profile.methodNames.map((name) => ({ ...name, bci: 1, line: 1 })),
    instrumentation: {
      ...profile.instrumentation,
      skipped: [{ method: 'a.B.c()V', reason: 'native' }],
      overflows: [{ method: 'a.B.c()V', errors: 1 }],
    },
    calibration: { ...profile.calibration, innerSpreadNs: 1, outerSpreadNs: 1, readNs: 1, clockMHz: 1 },
    detach: {
      ...{ ms: 1, proofMs: 1, restoredClasses: 1, refusedClasses: 0, pauseMs: 1, lambdaClasses: 0 },
      code: {
        ...{ checkedClasses: 1, checkedMethods: 1, originalClasses: 0, unchecked: 'no time' },
        different: ['a.B.c()V'],
      },
      ...{ left: ['thread jfluid-agent'], unseen: ['mappings'] },
    },
    stacks: {
      ...{ samples: 1, unseenPart: 0, missed: 1, dropped: 1, costMs: 1 },
      ...{
        longestStallMs: 1,
        stallAtMs: 1,
        stallCause: 'processor' as const,
        suspendedMs: 0,
        rowsFromMs: 1,
        coldUntilMs: 1,
        rootCalls: 1,
        timedOneOf: 1,
      },
      pauses: [{ predictedMs: 1, measuredMs: 1, classes: 1 }],
    },
    bareCalls: { calls: 64, bareNs: 1, chargedNs: 2, low: 1.9, high: 2.1 },
    regions: [REGION],
    ...TIMED,
    selection: {
      ...{ include: [], exclude: [], jdk: false },
      byHand: [{ what: 'exclude' as const, text: 'a.B', atMs: 1, methods: 1 }],
    },
    trace: { asked: 1, calls: [callOf('main> 0 work> 1 work< 4 main< 5', new Methods())] },
    slowCalls: slowCallsOf(profile.merged),
  }
  const ones = new Float64Array(full.merged.count).fill(1)
  Object.assign(full.merged.metrics, {
    ...Object.fromEntries(
      ['known', 'samples', 'sdNs', UNSEEN, ...STATE_COLUMNS, UNKNOWN_STATE].map((it) => [it, ones]),
    ),
  })
  full.merged.metrics.warmupCalls!.fill(1)
  full.merged.metrics.warmupSelfNs!.fill(1)
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
  visit(JSON.parse([...jsonPieces(full)].join('')), '')
  const documented = rows(read('docs/profile-json.md'), '| key | type |').map(([key]) => unquoted(key!))
  // An array of objects needs no row if its members have rows.
  const objects =
    /^(instrumentation\.(skipped|overflows)|jvms|threads|slowCalls\.slowest|stacks\.pauses|regions|regions\[\]\.buckets|regions\[\]\.intervals)\[\]$/
  const paths = [...found].filter((path) => !objects.test(path))
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

describe('links and files', () => {
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

  it.each(DOCUMENTS)('files named in %s exist', (document) => {
    const names = [...read(document).matchAll(/`([\w./-]+\.(?:ts|java|mjs|md))`/g)].map(([, name]) => name!)
    const lost = names.filter(
      (name) =>
        !existsSync(join(root, name)) &&
        !existsSync(join(root, dirname(document), name)) &&
        !everyFile.has(name.replace(/^\.\//, '')),
    )
    expect(lost).toEqual([])
  })

  it('chapters named in sources and tests exist', () => {
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

describe('the manual', () => {
  const headings = (text: string): string[] => anchors(text).slice(1)

  it('the README has fewer than 400 lines', () => {
    expect(readme.split('\n').length).toBeLessThan(400)
  })

  it('every chapter is reachable from the README', () => {
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

  it('timeouts are those of agent and runtime', () => {
    const [silentMs, starvingMs] = ['SILENT', 'STARVING'].map((who) => client(`${who}_CLIENT_TIMEOUT_NANOS`))
    expect(target).toContain(`waits up to ${silentMs} ms for a client without a heartbeat.`)
    expect(target).toContain(`up to ${starvingMs! / 1e3} s after its last heartbeat`)
    expect(target).toContain(
      `Each wait of a thread has a timeout of ${client('ANSWER_TIMEOUT_NANOS') / 1e3} s`,
    )
    expect(target).toContain(`checks the client's process ${client('CHECK_CLIENT_AFTER_NANOS')} ms after`)
    const silent = java('agent/jfluid/agent/ClientProcess.java', 'SILENT_CLIENT_TIMEOUT_SECONDS')
    expect(target).toContain(`sends no message for ${silent} s, ends the session`)
  })

  it('resources that an attach needs are those of the client, and the buffer has its size', () => {
    expect(rows(target, '| the JVM has').map(([has]) => /\d+/.exec(has!)?.[0])).toEqual(
      [THREADS_NEEDED, DESCRIPTORS_NEEDED, METASPACE_NEEDED >> 20, HEAP_NEEDED >> 20].map(String),
    )
    expect(target).toContain(`| mapped buffer | ${(CHUNK_BYTES * CHUNK_COUNT) >> 20} MiB, up to 72 MiB`)
  })
})
