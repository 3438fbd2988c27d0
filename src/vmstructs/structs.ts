// Reads the vmStructs table, in which HotSpot describes its own structures to tools such as the serviceability agent (vmStructs.cpp). The
// table contains the offset of each field. Every HotSpot since 6 contains the table. It is part of the JVM, so its offsets are correct.

import { symbolAddresses } from './elf.ts'
import type { Memory, Pieces } from './memory.ts'

/** Number of rows per read. The tables of a JVM have 500 to 1,500 rows. */
const ROWS_PER_READ = 512
const MAX_ROWS = 16_384
/** Maximum size of a structure. The largest structures have some KiB. A larger value indicates an unknown layout. */
const MAX_BYTES = 1 << 16

export interface Structs {
  /** Offset of a field such as "Method._code"; undefined if this JVM has no such field. */
  offset(field: string): number | undefined
  /** Address of a static field. */
  address(field: string): number | undefined
  sizeOf(type: string): number | undefined
}

/** Names of the symbols that describe a table. */
interface TableNames {
  readonly table: string
  readonly entry: string
  readonly columns: readonly string[]
}

const FIELDS: TableNames = {
  table: 'gHotSpotVMStructs',
  entry: 'gHotSpotVMStructEntry',
  columns: ['TypeName', 'FieldName', 'IsStatic', 'Offset', 'Address'],
}
const TYPES: TableNames = {
  table: 'gHotSpotVMTypes',
  entry: 'gHotSpotVMTypeEntry',
  columns: ['TypeName', 'Size'],
}

interface Table {
  readonly at: number
  readonly stride: number
  readonly columns: readonly number[]
}

/** @returns null if the JVM does not contain the table, or if the table has an unknown layout */
export async function readStructs(memory: Memory, library: number): Promise<Structs | null> {
  const symbols = await symbolAddresses(memory, library, [FIELDS, TYPES].flatMap(symbolsOf))
  if (symbols === null) return null
  const [fields, types] = [await locate(memory, symbols, FIELDS), await locate(memory, symbols, TYPES)]
  if (fields === null || types === null) return null

  const offsets = new Map<string, number>()
  const addresses = new Map<string, number>()
  const [type, field, isStatic, offset, address] = fields.columns
  for (const rows of await readRows(memory, fields)) {
    const typeNames = await memory.strings(rows.indices.map((i) => rows.of.word(i, type)))
    const fieldNames = await memory.strings(rows.indices.map((i) => rows.of.word(i, field)))
    for (const i of rows.indices) {
      const name = `${typeNames[i]}.${fieldNames[i]}`
      if (rows.of.i32(i, isStatic) !== 0) addresses.set(name, rows.of.word(i, address))
      else setSmall(offsets, name, rows.of.word(i, offset))
    }
  }
  const sizes = new Map<string, number>()
  for (const rows of await readRows(memory, types)) {
    const names = await memory.strings(rows.indices.map((i) => rows.of.word(i, types.columns[0])))
    for (const i of rows.indices) setSmall(sizes, names[i], rows.of.word(i, types.columns[1]))
  }
  return {
    offset: (name) => offsets.get(name),
    address: (name) => addresses.get(name),
    sizeOf: (name) => sizes.get(name),
  }
}

function setSmall(values: Map<string, number>, name: string, bytes: number): void {
  if (bytes < MAX_BYTES) values.set(name, bytes)
}

const symbolsOf = ({ table, entry, columns }: TableNames): string[] => [
  table,
  `${entry}ArrayStride`,
  ...columns.map((it) => `${entry}${it}Offset`),
]

async function locate(
  memory: Memory,
  symbols: ReadonlyMap<string, number>,
  names: TableNames,
): Promise<Table | null> {
  const values = await memory.gather(
    symbolsOf(names).map((it) => symbols.get(it) ?? 0),
    8,
  )
  const [at, stride, ...offsets] = symbolsOf(names).map((_, i) => values.word(i))
  if (at === 0 || stride < 16 || stride > 256 || offsets.some((it) => it + 8 > stride)) return null
  return { at, stride, columns: offsets }
}

/** Reads the rows of a table in blocks. A row without a name marks the end of the table. */
async function readRows(
  memory: Memory,
  { at, stride, columns }: Table,
): Promise<{ of: Pieces; indices: number[] }[]> {
  const blocks: { of: Pieces; indices: number[] }[] = []
  for (let row = 0; row < MAX_ROWS; row += ROWS_PER_READ) {
    const of = await memory.gather(
      Array.from({ length: ROWS_PER_READ }, (_, i) => at + (row + i) * stride),
      stride,
    )
    const all = Array.from({ length: ROWS_PER_READ }, (_, i) => i)
    const end = all.findIndex((i) => of.word(i, columns[0]) === 0)
    blocks.push({ of, indices: end < 0 ? all : all.slice(0, end) })
    if (end >= 0) break
  }
  return blocks
}
