// Formats the Java sources of the back end with .clang-format. With --check it writes no file, lists the unformatted files, and exits with
// status 1 if there are any.

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from '@wasm-fmt/clang-format'
import { javaSources } from './jdk.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const style = readFileSync(join(here, '.clang-format'), 'utf8')
const checks = process.argv[2] === '--check'

const files = javaSources(here)
const changed = files.filter((file) => {
  const source = readFileSync(file, 'utf8')
  const formatted = format(source, file, style)
  if (formatted !== source && !checks) writeFileSync(file, formatted)
  return formatted !== source
})
for (const file of changed) {
  const name = relative(process.cwd(), file)
  console.log(checks ? `${name}: not formatted` : `${name}: formatted`)
}
console.log(`Java: ${files.length} files, ${changed.length} ${checks ? 'not formatted' : 'formatted'}`)
if (checks && changed.length > 0) {
  console.error('jfluid: run npm run format')
  process.exitCode = 1
}
