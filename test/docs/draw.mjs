// node test/docs/draw.mjs [seed]: draws 200 comment lines, 100 test titles and 50 document paragraphs at random. A reader who has not seen
// them marks everything that must be read twice. The same seed draws the same lines from the same files.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const seed = Number(process.argv[2] ?? 1)

const filesIn = (folder, ending) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((it) => ending.test(it) && !it.includes('node_modules'))
    .sort()
    .map((it) => join(folder, it))
const linesOf = (file) => readFileSync(join(root, file), 'utf8').split('\n')

/** Returns a generator of random numbers from 0 to 1 (Mulberry32). */
function random(from) {
  let state = from >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function drawn(all, many, next) {
  const left = [...all]
  return Array.from({ length: Math.min(many, left.length) }, () => {
    const at = Math.floor(next() * left.length)
    return left.splice(at, 1)[0]
  })
}

const sources = [...filesIn('src', /\.tsx?$/), ...filesIn('backend-java', /\.java$/)]
const comments = sources.flatMap((file) =>
  linesOf(file).flatMap((line, at) => {
    const [, text] = /^\s*(?:\/\/|\/\*\*?|\*)\s+(.*?)(?:\s*\*\/)?$/.exec(line) ?? []
    return text !== undefined && /[a-z]{3}/.test(text) ? [`${file}:${at + 1}: ${text}`] : []
  }),
)
const titles = filesIn('test', /\.test\.ts$/).flatMap((file) =>
  linesOf(file).flatMap((line) => {
    const [, , text] = /^\s*(?:it|test|describe)(?:\.\w+)*\((['"`])(.+)\1/.exec(line) ?? []
    return text === undefined ? [] : [`${file}: ${text}`]
  }),
)
const documents = [
  'README.md',
  'SECURITY.md',
  'TROUBLESHOOTING.md',
  ...filesIn('docs', /\.md$/),
  ...filesIn('src', /\.md$/),
]
const paragraphs = documents.flatMap((file) =>
  readFileSync(join(root, file), 'utf8')
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .split(/\n{2,}/)
    .filter((it) => /^[^#|<\s]/.test(it) && it.length > 80)
    .map((it) => `${file}: ${it}`),
)

const next = random(seed)
for (const [title, all, many] of [
  ['Comments', comments, 200],
  ['Titles of tests', titles, 100],
  ['Paragraphs', paragraphs, 50],
]) {
  console.log(`\n## ${title}: ${Math.min(many, all.length)} of ${all.length}, seed ${seed}\n`)
  for (const [i, text] of drawn(all, many, next).entries()) console.log(`${i + 1}. ${text}`)
}
