import { describe, expect, it } from 'vitest'
import { jvmText } from '../../src/base/jvm-text.ts'
import { encodeModifiedUtf8 } from '../../src/classfile/utf8.ts'

describe('text received from a JVM', () => {
  it.each(['', 'plain', 'Größe', '日本語', 'a\0b', '𝒜 and 😀', '\ud800 lone', '\udc00\ud800', 'last \udbff'])(
    'text written by a JVM is read as the original text: %j',
    (text) => {
      expect(jvmText(Buffer.from(encodeModifiedUtf8(text)))).toBe(text)
    },
  )

  it('text received from a JVM may be plain UTF-8 instead of modified UTF-8', () => {
    expect(jvmText(Buffer.from('𝒜 and 😀\0'))).toBe('𝒜 and 😀\0')
  })

  it('text received from a JVM may contain invalid bytes', () => {
    expect(jvmText(Buffer.from([0x41, 0xff, 0xed, 0xa0, 0x80, 0xc0, 0xed, 0xa0]))).toMatch(
      /^A\ufffd\ud800\ufffd+$/,
    )
  })

  it('text received from a JVM can be read from a part of a byte array', () => {
    expect(jvmText(Buffer.from('a\ufffdbc'), 4, 6)).toBe('bc')
  })
})
