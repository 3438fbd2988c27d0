import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { createProgress } from '../../src/tui/progress.ts'

function told(isTTY: boolean, columns = 80): string {
  let text = ''
  const write = (piece: string): void => {
    text += piece
  }
  const progress = createProgress({ isTTY, columns, write }, { TERM: 'xterm' })
  progress.phase('attaching to 4711')
  progress.phase('attaching to 4711')
  progress.note('--root com.acme.Foo.bar: 2 methods\x1b[2J')
  progress.update('3/10 s  1000 events')
  progress.update('4/10 s  2000 events')
  progress.done('detached')
  progress.close()
  return text
}

describe('progress of work without a live view', () => {
  it('progress in a log is one line per phase', () => {
    assert.equal(told(false), 'attaching to 4711\n--root com.acme.Foo.bar: 2 methods?[2J\ndetached\n')
  })

  it('on a terminal, progress is one changing line below the other output; the line is removed at the end', () => {
    assert.equal(
      told(true).replaceAll('\r\x1b[K', '<'),
      '<attaching to 4711<--root com.acme.Foo.bar: 2 methods?[2J\n<attaching to 4711' +
        '<3/10 s  1000 events<4/10 s  2000 events<detached\n',
    )
  })

  it('a progress line is never wider than the terminal', () => {
    const changing = told(true, 12)
      .split('\r\x1b[K')
      .filter((line) => !line.includes('\n'))
    for (const line of changing) assert.ok(line.length < 12, line)
  })
})
