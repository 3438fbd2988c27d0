// Permitted imports between folders (src/README.md). A folder may always import itself.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const src = fileURLToPath(new URL('../../src', import.meta.url))

const ALLOWED: Record<string, readonly string[]> = {
  base: [],
  attach: ['base'],
  'jdwp-client': ['base'],
  wire: ['base'],
  classfile: ['base'],
  events: ['base'],
  instrument: ['classfile', 'base'],
  typecheck: ['classfile', 'base'],
  reveal: ['classfile', 'base'],
  vmstructs: ['classfile', 'base'],
  jfr: ['base'],
  cct: ['events', 'regions', 'measures', 'base'],
  regions: ['events', 'base'],
  profile: ['measures', 'cct', 'regions', 'base'],
  export: ['measures', 'profile', 'cct', 'base'],
  push: ['export', 'profile', 'cct', 'base'],
  remote: ['wire', 'measures', 'cct', 'base'],
  tui: ['measures', 'profile', 'cct', 'base'],
  // Per layer: see LAYERS.
  measures: ['cct', 'events', 'instrument', 'profile', 'session', 'wire'],
  options: ['profile', 'base'],
  library: ['commands', 'options', 'session', 'profile', 'cct', 'base'],
  session: [
    'attach',
    'jdwp-client',
    'wire',
    'vmstructs',
    'jfr',
    'classfile',
    'instrument',
    'typecheck',
    'reveal',
    'events',
    'cct',
    'regions',
    'measures',
    'options',
    'profile',
    'base',
  ],
}

/** Files of a measure, and the tables of their layer, by name. A file loaded early must not import a file that is loaded late. */
const LAYERS: Record<string, readonly string[]> = {
  columns: [],
  events: ['events', 'profile'],
  probes: ['instrument', 'session', 'wire', 'profile'],
  section: ['profile', 'cct'],
  sink: ['cct', 'events'],
  view: ['profile'],
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((f) => /\.tsx?$/.test(f))

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((m) =>
    normalize(join(dirname(file), m[1]!)),
  )
}

describe('the map that lists the allowed imports of each folder in src', () => {
  it.each(Object.keys(ALLOWED))('the folder src/%s imports only from allowed folders', (folder) => {
    const wrong = files
      .filter((file) => file.startsWith(folder + sep))
      .flatMap((file) =>
        importsOf(file)
          .filter((to) => ![folder, ...ALLOWED[folder]!].includes(to.split(sep)[0]!))
          .map((to) => `${file} → ${to}`),
      )
    expect(wrong).toEqual([])
  })

  it('files in src/measures import only from the folders that their layer permits', () => {
    for (const file of files.filter((it) => it.startsWith(`measures${sep}`))) {
      const layer = Object.keys(LAYERS).find((it) => new RegExp(`\\b${it}s?\\.ts$`).test(file))
      expect(layer, file).toBeDefined()
      const others = importsOf(file).filter((to) => !LAYERS[layer!]!.includes(to.split(sep)[0]!))
      for (const to of others)
        expect(to, `${file} → ${to}`).toMatch(new RegExp(`^measures\\b.*\\b(?:${layer}s?|columns)\\.ts$`))
    }
  })

  it('the map of allowed imports contains every folder of src', () => {
    const folders = new Set(files.filter((f) => f.includes(sep)).map((f) => f.split(sep)[0]!))
    folders.delete('commands') // it combines all folders
    expect([...folders].sort()).toEqual(
      Object.keys(ALLOWED)
        .filter((f) => folders.has(f))
        .sort(),
    )
    const map = readFileSync(join(src, 'README.md'), 'utf8')
    for (const folder of folders) expect(map, 'src/README.md').toContain(`\`${folder}/\``)
  })

  it('only the files tui/screen* import the terminal library neo-blessed', () => {
    const importers = files.filter((f) => /from 'neo-blessed'/.test(readFileSync(join(src, f), 'utf8')))
    expect(importers.every((f) => f.startsWith(join('tui', 'screen')))).toBe(true)
  })
})

/** Returns the files that each file imports with their values, statically or dynamically; optionally also type imports. */
function importGraph(withTypes: boolean): Map<string, string[]> {
  const known = new Set(files)
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(src, file), 'utf8')
      const paths = [
        ...[...text.matchAll(/^(?:import|export)\s+(type\s)?([^'"]*?)from\s+'(\.[^']+)'/gm)]
          .filter(([, type, names]) => withTypes || (type === undefined && !areTypes(names!)))
          .map(([, , , path]) => path!),
        ...[...text.matchAll(/^import '(\.[^']+)'/gm)].map(([, path]) => path!),
        ...[...text.matchAll(/(typeof )?import\(\s*'(\.[^']+)'\s*\)/g)]
          .filter(([, type]) => withTypes || type === undefined)
          .map(([, , path]) => path!),
      ]
      return [file, paths.map((path) => normalize(join(dirname(file), path))).filter((it) => known.has(it))]
    }),
  )
}

/** Returns whether all names between braces are types: `{ type A, type B }`. */
function areTypes(names: string): boolean {
  const [, inside] = /^\s*\{([^}]*)\}\s*$/.exec(names) ?? []
  const each = inside?.split(',').filter((it) => it.trim() !== '')
  return each !== undefined && each.length > 0 && each.every((it) => it.trim().startsWith('type '))
}

/** Returns groups of files that import each other, directly or indirectly: strongly connected components of more than one file (Tarjan). */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const visit = (file: string): void => {
    index.set(file, index.size)
    low.set(file, index.get(file)!)
    open.push(file)
    for (const to of graph.get(file)!) {
      if (!index.has(to)) visit(to)
      if (open.includes(to)) low.set(file, Math.min(low.get(file)!, low.get(to)!))
    }
    if (low.get(file) !== index.get(file)) return
    const circle = open.splice(open.indexOf(file))
    if (circle.length > 1) found.push(circle.sort())
  }
  for (const file of graph.keys()) if (!index.has(file)) visit(file)
  return found
}

describe('cycles of imports', () => {
  it('an import cycle is found', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', ['a']],
      ['d', ['d']],
    ])
    expect(circles(graph)).toEqual([['a', 'b', 'c']])
    expect(importGraph(false).get(join('session', 'session.ts'))!.length).toBeGreaterThan(10)
  })

  it('imports of values form no cycle, even if dynamic imports are included', () => {
    expect(circles(importGraph(false))).toEqual([])
  })

  it("the recorder's worker imports no view and no report section of a measure, directly or through other files", () => {
    const graph = importGraph(false)
    const reached = new Set([join('session', 'recorder', 'recorder-worker.ts')])
    for (const file of reached) for (const next of graph.get(file)!) reached.add(next)
    expect([...reached]).toContain(join('measures', 'sinks.ts'))
    expect(
      [...reached].filter((it) => /^(tui|export|commands)\b|measures.(views|sections|probes)\.ts$/.test(it)),
    ).toEqual([])
  })

  it('a cycle of type imports never includes files of two folders', () => {
    for (const circle of circles(importGraph(true)))
      expect(new Set(circle.map((it) => it.split(sep)[0])).size, circle.join(' ')).toBe(1)
  })
})
