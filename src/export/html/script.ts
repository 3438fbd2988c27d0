// The page's own script and style, as they stand in the page. The modules of client/ are put one behind the other: what they
// import of each other is there already, and no two have a name in common (a test has the engine parse it).

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { builtFile } from '../../base/package-root.ts'

/** In the order in which they need each other. */
const MODULES = ['data', 'format', 'traces', 'outline', 'flame', 'columns', 'weights', 'main']

const read = (file: string): string => readFileSync(builtFile(`export/html/client/${file}`), 'utf8')

export interface Inlined {
  readonly text: string
  /** As a content security policy names it. */
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
