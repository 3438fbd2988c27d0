// Prints every text of the sources that a user can see, grouped by the commands that reach it. For people who review the wording.
//
//   node test/docs/strings.mjs            all commands
//   node test/docs/strings.mjs doctor     the texts of one command, including texts that it shares with other commands
//
// Commands and their first modules are read from src/commands/program.ts, and static and dynamic imports are followed from there. Not
// listed: texts of the debug log, messages of broken invariants (`new Error`), samples of error classes, and strings without a blank
// (names, keys, paths, option names).

import { existsSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..')
const PROGRAM = resolve(ROOT, 'src/commands/program.ts')
/** Heading of modules that the parser of the command line itself loads. */
const EVERY = 'all'

/** Errors whose message users see only if jfluid has an internal error. */
const INVARIANTS = new Set([
  'Error',
  'RangeError',
  'TypeError',
  'InstrumentationError',
  'Worker',
  'RegExp',
  'URL',
])
/** Methods that compare or look up their string arguments and do not print them. */
const COMPARING = new Set(
  'includes startsWith endsWith split indexOf lastIndexOf has get delete on once off emit match test localeCompare getInstance'.split(
    ' ',
  ),
)

/** @typedef {{ file: string, line: number, text: string }} Text */

/**
 * @returns {{ commands: string[], texts: Text[] }[]}  one element for each set of commands that reaches the same modules
 */
export function userStrings() {
  const modules = new Map()
  const module = (path) => {
    if (!modules.has(path)) modules.set(path, readModule(path))
    return modules.get(path)
  }
  const commandsOf = new Map()
  for (const [command, first] of entries()) {
    const open = [...first]
    const seen = new Set(open)
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      commandsOf.set(path, [...(commandsOf.get(path) ?? []), command])
      for (const imported of module(path).imports) {
        if (seen.has(imported)) continue
        seen.add(imported)
        open.push(imported)
      }
    }
  }
  const groups = new Map()
  for (const [path, reached] of commandsOf) {
    const commands = reached.includes(EVERY) ? [EVERY] : reached
    const texts = module(path).texts
    if (texts.length === 0) continue
    const key = commands.join(', ')
    const group = groups.get(key) ?? { commands, texts: [] }
    group.texts.push(...texts)
    groups.set(key, group)
  }
  const byPlace = (a, b) => a.file.localeCompare(b.file) || a.line - b.line
  return [...groups.values()]
    .map(({ commands, texts }) => ({ commands, texts: texts.sort(byPlace) }))
    .sort((a, b) => a.commands.length - b.commands.length || a.commands[0].localeCompare(b.commands[0]))
}

/** Returns the modules that each command loads first. */
function entries() {
  const { ast } = parsed(PROGRAM)
  const found = new Map([[EVERY, [PROGRAM, resolve(ROOT, 'src/cli.ts')].map(toSource)]])
  walk(ast, (node, parents) => {
    if (node.type !== 'ImportExpression') return
    for (const parent of parents) {
      const name = commandOf(parent)
      if (name === null) continue
      const path = imported(PROGRAM, node.source.value)
      found.set(name, [...(found.get(name) ?? []), path])
      return
    }
  })
  return found
}

/** @returns the name in `command('name', …)` at the start of a chain of calls */
function commandOf(node) {
  let call = node
  while (call?.type === 'CallExpression') {
    const { callee } = call
    const named = callee.type === 'Identifier' ? callee.name : callee.property?.name
    if (named === 'command') return call.arguments[0]?.value ?? null
    call = callee.object
  }
  return null
}

function readModule(path) {
  const { ast, code } = parsed(path)
  const imports = new Set()
  const texts = []
  const lines = lineStarts(code)
  walk(ast, (node, parents) => {
    const source = node.source
    if (/^(Import(Declaration|Expression)|Export(Named|All)Declaration)$/.test(node.type) && source != null) {
      const to =
        node.importKind === 'type' || node.exportKind === 'type' ? null : imported(path, source.value)
      // program.ts imports all commands. Their texts are listed per command instead.
      if (to !== null && !(path === PROGRAM && node.type === 'ImportExpression')) imports.add(to)
    }
    if (node.type === 'NewExpression' && node.callee.name === 'URL') {
      const to = imported(path, node.arguments[0]?.value)
      if (to !== null) imports.add(to)
    }
    const text = textOf(node)
    if (text === null || !isVisible(node, parents, text)) return
    texts.push({ file: relative(ROOT, path), line: lineAt(lines, node.start), text })
  })
  return { imports, texts }
}

function parsed(path) {
  const code = readFileSync(path, 'utf8')
  return { code, ast: parseAst(code, { lang: path.endsWith('x') ? 'tsx' : 'ts' }) }
}

/** @returns the path of a module of this project, or null for a package */
function imported(from, source) {
  if (typeof source !== 'string' || !source.startsWith('.')) return null
  const path = resolve(dirname(from), source)
  return /\.tsx?$/.test(path) && existsSync(path) ? path : null
}

function toSource(path) {
  if (!existsSync(path)) throw new Error(`no ${path}`)
  return path
}

/** @param parents  ancestors of the node, nearest first */
function walk(node, visit, parents = []) {
  if (visit(node, parents) === false) return
  const inner = [node, ...parents]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string') walk(child, visit, inner)
    }
  }
}

function textOf(node) {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type === 'JSXText') return node.value.trim()
  if (node.type !== 'TemplateLiteral') return null
  const parts = node.quasis.map(({ value }) => value.cooked ?? value.raw)
  return parts.reduce((all, part, i) => `${all}\${${sourceName(node.expressions[i - 1])}}${part}`)
}

/** Returns a short name of an expression, printed in place of its value. */
function sourceName(node) {
  if (node.type === 'Identifier') return node.name
  if (node.type === 'MemberExpression') return node.property.name ?? '…'
  if (node.type === 'CallExpression') return `${sourceName(node.callee)}()`
  return '…'
}

function isVisible(node, parents, text) {
  const own = text.replace(/\$\{[^}]*\}/g, '')
  if (!/[A-Za-z]{2}/.test(own) || !/\s|…/.test(own.trim() === own ? text.trim() : own)) return false
  if (/^\s*[<{]|^[\w-]+: [^a-z ]*$|;\s*$/.test(own)) return false // markup, styles
  let child = node
  for (const parent of parents) {
    if (isHidden(parent, child)) return false
    child = parent
  }
  return true
}

function isHidden(parent, child) {
  switch (parent.type) {
    case 'Property':
    case 'PropertyDefinition':
    case 'TSPropertySignature':
      return parent.key === child || (parent.static === true && parent.key.name === 'sample')
    case 'ImportDeclaration':
    case 'ImportExpression':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return parent.source === child
    case 'TaggedTemplateExpression':
    case 'TSLiteralType':
    case 'TSTemplateLiteralType':
    case 'TSTypeAliasDeclaration':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAnnotation':
    case 'TSTypeParameterInstantiation':
      return true
    case 'MemberExpression':
      return parent.property === child
    case 'BinaryExpression':
      return /^[=!<>]|^in$/.test(parent.operator)
    case 'SwitchCase':
      return parent.test === child
    case 'NewExpression':
      return INVARIANTS.has(parent.callee.name)
    case 'CallExpression':
      return parent.callee !== child && isUnseenCall(parent.callee)
    default:
      return false
  }
}

function isUnseenCall(callee) {
  if (callee.type === 'Identifier') return /^(debug|assert|invariant|require)/.test(callee.name)
  if (callee.type !== 'MemberExpression') return false
  return (
    COMPARING.has(callee.property.name) ||
    /^debug/i.test(sourceName(callee.object)) ||
    callee.object.name === 'console'
  )
}

function lineStarts(code) {
  const starts = [0]
  for (let at = code.indexOf('\n'); at !== -1; at = code.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function lineAt(starts, offset) {
  let line = 0
  while (line < starts.length && starts[line] <= offset) line++
  return line
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = process.argv[2]
  const groups = userStrings().filter(({ commands }) => wanted === undefined || commands.includes(wanted))
  if (groups.length === 0) {
    console.error(`no command ${wanted}`)
    process.exitCode = 64
  }
  for (const { commands, texts } of groups) {
    console.log(`\n== ${commands.join(', ')}`)
    for (const { file, line, text } of texts) console.log(`${file}:${line}  ${text.replaceAll('\n', '\\n')}`)
  }
}
