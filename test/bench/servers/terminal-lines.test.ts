import { describe, expect, it } from 'vitest'
import { TerminalLines, toldBy } from './terminal-lines.mjs'

const CLEAR = '\r\x1b[K'
const PROGRESS = '3/60 s  120 events  5 methods instrumented, 4 called'

describe('lines that jfluid prints on a terminal', () => {
  it('each line that jfluid prints is recognised as progress, end of a recording, or another message', () => {
    expect(toldBy(PROGRESS)).toEqual({ what: 'progress', events: 120, instrumented: 5, called: 4 })
    expect(toldBy('finished after 60 s').what).toBe('ending')
    expect(toldBy('attaching to 4711')).toEqual({ what: 'says', line: 'attaching to 4711' })
  })

  it('lines that jfluid prints are read completely, wherever the output is split into pieces', () => {
    const lines = new TerminalLines()
    expect(lines.take(`${CLEAR}attaching to 47`)).toEqual([])
    expect(lines.take(`11${CLEAR}3/60 s  120 events  5 methods instr`).map(({ what }) => what)).toEqual([
      'says',
    ])
    expect(lines.take('umented, 4 called')).toEqual([toldBy(PROGRESS)])
  })

  it('a line that jfluid prints again without a change is reported once', () => {
    const lines = new TerminalLines()
    lines.take(CLEAR + PROGRESS)
    expect(lines.take(CLEAR + PROGRESS)).toEqual([])
    expect(lines.take(`${CLEAR}finished after 60 s`)).toHaveLength(1)
    expect(lines.take('\r\n')).toEqual([])
  })

  it('the last line that jfluid prints is read even without a line end', () => {
    const lines = new TerminalLines()
    lines.take('JVM 4711 has ended')
    expect(lines.end()).toEqual([{ what: 'says', line: 'JVM 4711 has ended' }])
  })
})
