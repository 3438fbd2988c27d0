// A user-defined basic-block analysis: a module with a default export that decides whether an instruction ends a block (JP, section 4).
// docs/measuring.md contains an example.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { EX_DATAERR, EX_NOINPUT, JfluidError, messageOf } from '../base/errors.ts'
import type { BlockAnalysis } from '../instrument/blocks.ts'
import { NotInstrumentable } from '../instrument/problem.ts'

export class BadAnalysis extends JfluidError {
  static sample = () =>
    new BadAnalysis('the block analysis /srv/blocks.js has no function as its default export', EX_DATAERR)
  readonly hint =
    'Give default, precise, or a JavaScript module with: export default ({ opcode, bci, bytecode, pool }) => boolean'
  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message)
  }
}

/** Name of the analysis in profiles. The name includes a hash, since two analyses may have the same file name. */
export async function analysisName(path: string): Promise<string> {
  const content = await readFile(path).catch(() => Buffer.alloc(0)) // if the file is unreadable, loading the module reports the error
  return `${basename(path)}:${createHash('sha256').update(content).digest('hex').slice(0, 8)}`
}

/** @throws BadAnalysis */
export async function loadAnalysis(path: string): Promise<BlockAnalysis> {
  let module: { readonly default?: unknown }
  try {
    module = await import(pathToFileURL(resolve(path)).href)
  } catch (error) {
    const why = messageOf(error)
    throw new BadAnalysis(`cannot load the block analysis ${path}: ${why}`, EX_NOINPUT)
  }
  const analysis = module.default
  if (typeof analysis !== 'function') {
    throw new BadAnalysis(`the block analysis ${path} has no function as its default export`, EX_DATAERR)
  }
  return (instruction) => {
    let ends: unknown
    try {
      ends = analysis(instruction)
    } catch (error) {
      throw new NotInstrumentable(`the block analysis failed: ${String(error)}`)
    }
    if (typeof ends === 'boolean') return ends
    throw new NotInstrumentable(`the block analysis answered ${typeof ends}, not true or false`)
  }
}
