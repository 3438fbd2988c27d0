// Parses terminal input into keys and mouse events. neo-blessed is not used for this, since it drops keys that arrive in
// the same chunk as a mouse report. Sequences: xterm's ctlseqs, SGR mouse (mode 1006).

export interface Key {
  /** Name of the key: "up", "pagedown", "enter", "escape", "C-c", or the character itself: "a", "A", "*", "é". */
  readonly name: string
}

export interface Mouse {
  readonly kind: 'wheel-up' | 'wheel-down' | 'click'
  /** Column in cells, from 0. */
  readonly column: number
  readonly row: number
}

export type InputEvent = { readonly key: Key } | { readonly mouse: Mouse }

const SEQUENCES: { readonly [sequence: string]: string } = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  F: 'end',
  H: 'home',
  Z: 'S-tab',
  '1~': 'home',
  '2~': 'insert',
  '3~': 'delete',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
}

/** Matches a CSI or SS3 sequence with its parameters and its final byte (ECMA-48, 5.4). */
const SEQUENCE = /^\x1b(?:\[([<-?]?[0-9;:]*)[ -/]*([@-~])|O([0-9;]*)([@-~]))/
const UNFINISHED = /^\x1b(?:\[[<-?]?[0-9;:]*[ -/]*|O[0-9;]*)?$/

/** Parses input that arrives in chunks of any size. */
export class InputParser {
  #rest = ''

  /** True while a sequence is incomplete. If no input follows within a timeout, its first byte is the Escape key. */
  get waiting(): boolean {
    return this.#rest !== ''
  }

  feed(text: string): InputEvent[] {
    this.#rest += text
    return this.#events(false)
  }

  /** Parses an incomplete sequence as single keys. Called after a timeout. */
  flush(): InputEvent[] {
    return this.#events(true)
  }

  #events(flush: boolean): InputEvent[] {
    const events: InputEvent[] = []
    let rest = this.#rest
    while (rest !== '') {
      if (rest[0] !== '\x1b') {
        const character = String.fromCodePoint(rest.codePointAt(0)!)
        rest = rest.slice(character.length)
        const name = nameOfCharacter(character)
        if (name !== undefined) events.push({ key: { name } })
        continue
      }
      const found = SEQUENCE.exec(rest)
      if (found) {
        rest = rest.slice(found[0].length)
        const event = eventOf(found[1] ?? found[3] ?? '', found[2] ?? found[4]!)
        if (event) events.push(event)
        continue
      }
      if (!flush && UNFINISHED.test(rest)) break
      rest = rest.slice(1)
      events.push({ key: { name: 'escape' } })
    }
    this.#rest = rest
    return events
  }
}

const CHARACTERS: { readonly [character: string]: string } = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  ' ': 'space',
  '\x7f': 'backspace',
  '\b': 'backspace',
}

function nameOfCharacter(character: string): string | undefined {
  const known = CHARACTERS[character]
  if (known !== undefined) return known
  const code = character.codePointAt(0)!
  if (code >= 1 && code <= 26) return `C-${String.fromCharCode(code + 96)}`
  return code < 32 || (code >= 0x80 && code < 0xa0) ? undefined : character
}

function eventOf(parameters: string, final: string): InputEvent | undefined {
  if (parameters.startsWith('<')) return mouseOf(parameters.slice(1), final)
  const [first] = parameters.split(/[;:]/)
  const name = SEQUENCES[final === '~' ? `${first}~` : final]
  return name === undefined ? undefined : { key: { name } }
}

function mouseOf(parameters: string, final: string): InputEvent | undefined {
  const [button, column, row] = parameters.split(';').map(Number)
  if (button === undefined || !column || !row) return undefined
  const at = { column: column - 1, row: row - 1 }
  // Bits 2 to 4 are shift, meta and control, bit 5 is motion.
  const plain = button & ~0b11100
  if (plain === 64) return { mouse: { kind: 'wheel-up', ...at } }
  if (plain === 65) return { mouse: { kind: 'wheel-down', ...at } }
  return plain === 0 && final === 'M' ? { mouse: { kind: 'click', ...at } } : undefined
}
