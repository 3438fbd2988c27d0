// Formats a message for the debug log: numbers by value, bytes and lists by length. Strings are shown only for events that carry names of
// classes and methods: `hello` contains the program's arguments, `configure` may contain a token.

const SHOWS_TEXTS: ReadonlySet<string> = new Set(['classLoading', 'reflect', 'waited', 'ended'])

const MAX_ITEMS = 3
const MAX_LEVELS = 2
const MAX_CHARACTERS = 100

/**
 * @param name    name of the command or event
 * @param bytes   length of the message's frame
 * @param fields  arguments of the command or event, or the value of the reply
 */
export function messageText(name: string, bytes: number, fields: readonly unknown[]): string {
  const shown = fields.map((it) => ` ${fieldText(it, SHOWS_TEXTS.has(name), 0)}`)
  return `${name}, ${bytes} bytes${shown.length === 0 ? '' : ':'}${shown.join('')}`
}

function fieldText(field: unknown, showsTexts: boolean, level: number): string {
  if (field instanceof Uint8Array) return `(${field.length} bytes)`
  if (typeof field === 'string') {
    if (!showsTexts) return `(${field.length} characters)`
    return field.length > MAX_CHARACTERS ? `${field.slice(0, MAX_CHARACTERS)}…` : field
  }
  if (!Array.isArray(field)) return field === null ? 'nil' : String(field)
  if (level === MAX_LEVELS && field.length > 0) return `[${field.length}]`
  const some = field.slice(0, MAX_ITEMS).map((it) => fieldText(it, showsTexts, level + 1))
  if (field.length > MAX_ITEMS) some.push(`… ${field.length}`)
  return `[${some.join(', ')}]`
}
