// Parses the metadata of a chunk, which describe the layout of its events and constants: types with their fields.
// A metadata event consists of: size, type (0), start, duration, id, a table of strings, and a tree of elements. An element consists of:
//
//   name, number of attributes, (key, value)…, number of children, children…
//
// All names, keys and values are indices into the table. Only the elements `class` (id, name) and their `field`s (name, class,
// constantPool, dimension) are read. (JDK: jdk.jfr.internal.consumer / MetadataReader.)

import { Cursor } from './cursor.ts'
import { BadRecording } from './problem.ts'

export interface Field {
  readonly name: string
  /** Id of the field's type. */
  readonly type: number
  readonly isArray: boolean
  /** Whether the field contains a key into a constant pool instead of a value. */
  readonly isConstant: boolean
}

export interface Type {
  readonly id: number
  readonly name: string
  readonly fields: readonly Field[]
}

export type Types = ReadonlyMap<number, Type>

/** Maximum nesting depth of elements. In valid metadata, the depth is four. */
const MAX_DEPTH = 16

interface Element {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly Element[]
}

/**
 * Parses a metadata event.
 *
 * @param event  one whole event of type 0
 * @throws BadRecording
 */
export function parseMetadata(event: Buffer): Types {
  const cursor = new Cursor(event)
  cursor.varint() // size
  if (cursor.varint() !== 0) throw new BadRecording('the metadata are missing')
  for (let i = 0; i < 3; i++) cursor.varint() // start, duration, id
  const strings: string[] = []
  for (let left = cursor.count(); left > 0; left--) {
    const text = cursor.string()
    strings.push(typeof text === 'string' ? text : '')
  }
  const types = new Map<number, Type>()
  collect(elementAt(cursor, strings, 0), types)
  return types
}

function elementAt(cursor: Cursor, strings: readonly string[], depth: number): Element {
  if (depth > MAX_DEPTH) throw new BadRecording('its metadata are too deep')
  const text = (): string => {
    const found = strings[cursor.varint()]
    if (found === undefined) throw new BadRecording('its metadata refer to a missing string')
    return found
  }
  const name = text()
  const attributes = new Map<string, string>()
  for (let left = cursor.count(); left > 0; left--) attributes.set(text(), text())
  const children: Element[] = []
  for (let left = cursor.count(); left > 0; left--) children.push(elementAt(cursor, strings, depth + 1))
  return { name, attributes, children }
}

function collect(element: Element, types: Map<number, Type>): void {
  for (const child of element.children) {
    if (child.name === 'class') {
      const id = Number(child.attributes.get('id'))
      if (!Number.isSafeInteger(id)) throw new BadRecording('a type without a number')
      const fields = child.children.filter((it) => it.name === 'field').map(fieldOf)
      types.set(id, { id, name: child.attributes.get('name') ?? '', fields })
    } else collect(child, types)
  }
}

function fieldOf({ attributes }: Element): Field {
  return {
    name: attributes.get('name') ?? '',
    type: Number(attributes.get('class')),
    isArray: attributes.has('dimension') && attributes.get('dimension') !== '0',
    isConstant: attributes.get('constantPool') === 'true',
  }
}
