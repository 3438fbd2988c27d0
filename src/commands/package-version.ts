// Which jfluid this is.

import { readFileSync } from 'node:fs'
import { packageRoot } from '../base/package-root.ts'

export function packageVersion(): string {
  const text = readFileSync(new URL('package.json', packageRoot), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
