// A message in a line of the debug log: numbers as they are, of bytes and lists how many. Texts are shown of events that carry
// names of classes and methods, and of no other message: `hello` has the program's arguments, `configure` may have a token.

const SHOWS_TEXTS: ReadonlySet<string> = new Set(['classLoading', 'reflect', 'waited', 'ended'])

const MOST_ITEMS = 3
const MOST_LEVELS = 2
const MOST_CHARACTERS = 100

/**
 * @param name    of the command or event
 * @param bytes   of its frame
 * @param fields  its arguments, or its value
 */
export function messageText(name: string, bytes: number, fields: readonly unknown[]): string {
  const shown = fields.map((it) => ` ${fieldText(it, SHOWS_TEXTS.has(name), 0)}`)
  return `${name}, ${bytes} bytes${shown.length === 0 ? '' : ':'}${shown.join('')}`
}

function fieldText(field: unknown, showsTexts: boolean, level: number): string {
  if (field instanceof Uint8Array) return `(${field.length} bytes)`
  if (typeof field === 'string') {
    if (!showsTexts) return `(${field.length} characters)`
    return field.length > MOST_CHARACTERS ? `${field.slice(0, MOST_CHARACTERS)}…` : field
  }
  if (!Array.isArray(field)) return field === null ? 'nil' : String(field)
  if (level === MOST_LEVELS && field.length > 0) return `[${field.length}]`
  const some = field.slice(0, MOST_ITEMS).map((it) => fieldText(it, showsTexts, level + 1))
  if (field.length > MOST_ITEMS) some.push(`… ${field.length}`)
  return `[${some.join(', ')}]`
}
