import { describe, expect, it } from 'vitest'
import { messageText } from '../../src/wire/message-text.ts'

describe('a message in the debug log', () => {
  it('the debug text contains numbers, the sizes of byte arrays, and the first item and the length of each list', () => {
    const bodies = Array.from({ length: 80 }, (_, i) => [200 + i, 1, new Uint8Array(90)])
    expect(messageText('redefineMethods', 13_678, [bodies, [1, 2], 328])).toBe(
      'redefineMethods, 13678 bytes: [[200, 1, (90 bytes)], [201, 1, (90 bytes)], [202, 1, (90 bytes)], … 80] [1, 2] 328',
    )
    expect(messageText('enable', 13, [])).toBe('enable, 13 bytes')
    expect(messageText('enable', 8, [null])).toBe('enable, 8 bytes: nil')
    expect(messageText('status', 9, [[[[1, 2], []]], -1, true])).toBe('status, 9 bytes: [[[2], []]] -1 true')
  })

  it('the debug text contains the names of classes and methods', () => {
    expect(messageText('classLoading', 99, [7, 3, 1, 'shop/Till', new Uint8Array(5), false])).toBe(
      'classLoading, 99 bytes: 7 3 1 shop/Till (5 bytes) false',
    )
    expect(messageText('ended', 9, ['the JVM is ending'])).toBe('ended, 9 bytes: the JVM is ending')
  })

  it('the debug text omits strings that may contain a secret', () => {
    expect(messageText('configure', 104, ['peer=10.0.0.7:1;token=00ff', 32_768])).toBe(
      'configure, 104 bytes: (26 characters) 32768',
    )
    expect(
      messageText('hello', 111, [['build', 'ticks', 17, 'x', 'y', 'Main --password hunter2', 4711]]),
    ).toBe('hello, 111 bytes: [(5 characters), (5 characters), 17, … 7]')
  })
})
