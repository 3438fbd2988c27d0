// The page's script and style. The modules of client/ are concatenated without their imports. No two modules may declare the same name; a
// test parses the result.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { builtFile } from '../../base/package-root.ts'

/** Modules of client/, in dependency order. */
const MODULES = [
  ...[
    'data',
    'format',
    'traces',
    'outline',
    'flame',
    'columns',
    'weights',
    'link',
    'ranges',
    'lists',
    'timeline',
    'main',
  ],
]

const read = (file: string): string => readFileSync(builtFile(`export/html/client/${file}`), 'utf8')

export interface Inlined {
  readonly text: string
  /** Hash for the content security policy. */
  readonly hash: string
}

export function pageScript(): Inlined {
  return inlined(
    MODULES.map((module) =>
      read(`${module}.js`)
        .replace(/^import [^;]*? from '\.\/\w+\.js'\n/gms, '')
        .replace(/^export /gm, ''),
    ).join('\n'),
  )
}

export function pageStyle(): Inlined {
  return inlined(read('page.css'))
}

function inlined(text: string): Inlined {
  if (/<\/(script|style)/i.test(text)) throw new Error('the page would end in the middle of its own script')
  return { text, hash: `'sha256-${createHash('sha256').update(text).digest('base64')}'` }
}
