import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type InputEvent, InputParser } from '../../src/tui/input.ts'

/** Returns events in short form: key names, or "wheel-up 3,4". */
function read(...pieces: string[]): string[] {
  const parser = new InputParser()
  const events = [...pieces.flatMap((piece) => parser.feed(piece)), ...parser.flush()]
  return events.map((event: InputEvent) =>
    'key' in event ? event.key.name : `${event.mouse.kind} ${event.mouse.column},${event.mouse.row}`,
  )
}

describe('keys typed on the terminal', () => {
  it('keys are parsed from characters, control characters and escape sequences', () => {
    assert.deepEqual(read('aA*é'), ['a', 'A', '*', 'é'])
    assert.deepEqual(read('\r\t \x7f\x03\x1a'), ['enter', 'tab', 'space', 'backspace', 'C-c', 'C-z'])
    assert.deepEqual(read('\x1b[A\x1bOB\x1b[1;5C\x1b[D'), ['up', 'down', 'right', 'left'])
    assert.deepEqual(read('\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1bOF'), ['pageup', 'pagedown', 'home', 'end', 'end'])
  })

  it('the escape sequence of a key may arrive in several pieces', () => {
    assert.deepEqual(read('\x1b', '[', '5', '~j'), ['pageup', 'j'])
  })

  it('if nothing follows an Escape character before a timeout, the character is the key Esc', () => {
    const parser = new InputParser()
    assert.deepEqual(parser.feed('\x1b'), [])
    assert.equal(parser.waiting, true)
    assert.deepEqual(parser.flush(), [{ key: { name: 'escape' } }])
    assert.equal(parser.waiting, false)
  })

  it('an unknown escape sequence is ignored, and the keys after it are parsed', () => {
    assert.deepEqual(read('\x1b[200~j\x1b[?1;2cj\x1b[38;5'), ['j', 'j', 'escape', '[', '3', '8', ';', '5'])
  })
})

describe('the mouse in the terminal', () => {
  it('mouse events report clicks and scrolling with cell positions that begin at 0', () => {
    assert.deepEqual(read('\x1b[<0;10;5M\x1b[<0;10;5m\x1b[<64;1;1M\x1b[<65;300;2M'), [
      'click 9,4',
      'wheel-up 0,0',
      'wheel-down 299,1',
    ])
  })
  it('a key that follows a mouse event is parsed', () => {
    assert.deepEqual(read('q\x1b[<65;3;2Mj'), ['q', 'wheel-down 2,1', 'j'])
  })
  it('mouse motion and the right mouse button are ignored', () => {
    assert.deepEqual(read('\x1b[<2;1;1M\x1b[<35;1;1M\x1b[<M'), [])
  })
})
