// All error classes of the sources with their samples, and docs/errors.md. `npx vitest run --project unit test/docs -u` writes the page.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { JfluidError } from '../../src/base/errors.ts'

const SRC = join(import.meta.dirname, '../../src')

export interface ErrorClass {
  readonly name: string
  /** Path below src. */
  readonly path: string
  /** Undefined for a class without `static sample`, and for a class that its module does not export. */
  readonly samples: readonly JfluidError[] | undefined
}

/** Classes that carry the message, hint and exit code of another error. */
const CARRIERS = ['RecorderFailed', 'ProxySays']

/** Returns every concrete subclass of JfluidError. Sources are searched by text, then imported. */
export async function errorClasses(): Promise<readonly ErrorClass[]> {
  const declared = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .flatMap((path) =>
      [
        ...readFileSync(join(SRC, path), 'utf8').matchAll(
          /^(?:export )?(abstract )?class (\w+) extends (\w+)/gm,
        ),
      ].map(([, abstract, name, parent]) => ({ path, isAbstract: abstract !== undefined, name, parent })),
    )
  const errors = new Set<string | undefined>(['JfluidError'])
  for (let before = 0; before < errors.size; ) {
    before = errors.size
    for (const { name, parent } of declared) if (errors.has(parent)) errors.add(name)
  }
  const concrete = declared.filter(
    ({ name, parent, isAbstract }) => errors.has(parent) && !isAbstract && name,
  )
  return await Promise.all(
    concrete
      .filter(({ name }) => !CARRIERS.includes(name!))
      .map(async ({ name, path }) => {
        const module: Record<string, unknown> = await import(join(SRC, path))
        return { name: name!, path, samples: samplesOf(module[name!]) }
      }),
  )
}

function samplesOf(type: unknown): readonly JfluidError[] | undefined {
  if (typeof type !== 'function' || !('sample' in type) || typeof type.sample !== 'function') return undefined
  const made: unknown = type.sample()
  const all: unknown[] = Array.isArray(made) ? made : [made]
  return all.every((it) => it instanceof JfluidError) ? all : undefined
}

/** Sections of the page, in order. A path belongs to the first section that lists the beginning of the path. */
const SECTIONS: readonly (readonly [title: string, ...paths: string[]])[] = [
  ['Containers and pods', 'commands/containers/'],
  ['Another machine', 'remote/', 'commands/proxy', 'commands/remote'],
  ['Stores of profiles', 'push/', 'commands/push', 'commands/destination'],
  ['Comparing and the gate', 'commands/compare', 'commands/gate', 'profile/condition', 'profile/find-method'],
  ['Debugger ports', 'jdwp-client/', 'session/doors/debugger', 'session/doors/jdwp', 'commands/way-in'],
  ['Attaching to a JVM', 'attach/'],
  ['Loading the agent, and detaching', 'session/doors/', 'wire/', 'session/bare', 'commands/agent-path'],
  ['Sampling', 'session/sampling/', 'jfr/', 'commands/every', 'commands/whole-jvm'],
  ['Roots, regions and filters', 'reveal/', 'session/code/', 'session/changed-roots', 'session/adaptive/'],
  ['Profiles and exports', 'profile/', 'export/', 'commands/report', 'commands/place'],
  ['Terminals', 'tui/'],
  ['While recording', 'session/', 'cct/', 'events/', 'commands/outcome', 'commands/group', 'commands/run'],
  ['The command line', ''],
]

const cell = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')
const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``)
/** Escapes characters that have a meaning in Markdown. */
const plain = (text: string): string => text.replaceAll(/[<*[\]]/g, '\\$&')

export function errorsPage(classes: readonly ErrorClass[]): string {
  const sectionOf = ({ path }: ErrorClass) =>
    SECTIONS.find(([, ...paths]) => paths.some((it) => path.startsWith(it)))
  const order = [...SECTIONS.slice(-1), ...SECTIONS.slice(0, -1)]
  return [
    '# Error messages',
    '',
    '<!-- Made from `static sample` of each error class: npx vitest run --project unit test/docs -u -->',
    '',
    'All chapters: [the manual](README.md). jfluid prints an error as two lines on the standard error: what happened, and what to do next.',
    'The page has one to three examples of each error: your process ids, paths, methods, numbers and reasons may be others. Search the page for a few words of your message.',
    'The last column is the [exit code](exit-codes.md). Symptoms and their causes are in [TROUBLESHOOTING.md](../TROUBLESHOOTING.md).',
    'Options that cannot be combined have their messages in [All options](options.md#options-that-cannot-be-combined).',
    ...order.flatMap((section) => [
      '',
      `## ${section[0]}`,
      '',
      '| message | what to do | code |',
      '| --- | --- | --- |',
      ...classes
        .filter((it) => sectionOf(it) === section)
        .flatMap(({ samples = [] }) => samples)
        .map(
          ({ message, hint, exitCode }) => `| ${code(cell(message))} | ${plain(cell(hint))} | ${exitCode} |`,
        )
        .sort(),
    ]),
    '',
  ].join('\n')
}
