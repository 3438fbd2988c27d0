// Compiles the modules of src/ to separate files that Node can run, since the build contains only whole commands. The files are made at the
// first request, and again when a source has changed. They are kept in a directory from which Node finds packages.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'

const root = join(fileURLToPath(import.meta.url), '../../..')
const cache = join(root, 'node_modules/.cache/jfluid')

let made

/** @returns {Promise<string>} directory with `events/ring.js` for `src/events/ring.ts` */
export function modules() {
  made ??= compiled()
  return made
}

/**
 * @param {string} file  such as `events/ring.js`
 * @returns {Promise<string>} URL to import the module
 */
export async function moduleUrl(file) {
  return pathToFileURL(join(await modules(), file)).href
}

async function compiled() {
  const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter(({ name }) => /\.tsx?$/.test(name))
    .map(({ name, parentPath }) => join(parentPath, name))
  const changed = Math.max(...sources.map((source) => statSync(source).mtimeMs))
  const directory = join(cache, `modules-${sources.length}-${Math.round(changed)}`)
  if (existsSync(directory)) return directory
  mkdirSync(cache, { recursive: true })
  const older = readdirSync(cache).filter((name) => name.startsWith('modules-'))
  const aside = mkdtempSync(join(cache, '.modules-'))
  try {
    const bundle = await rolldown({
      input: Object.fromEntries(
        sources.map((source) => [relative(join(root, 'src'), source).replace(/\.tsx?$/, ''), source]),
      ),
      platform: 'node',
      external: /^[^./]/,
    })
    await bundle.write({ dir: aside, format: 'esm', preserveModules: true, preserveModulesRoot: 'src' })
    try {
      renameSync(aside, directory)
    } catch (error) {
      if (!existsSync(directory)) throw error // otherwise another process has made the same files first
    }
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  for (const name of older) rmSync(join(cache, name), { recursive: true, force: true })
  return directory
}
