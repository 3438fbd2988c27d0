// Text in the JVM's modified UTF-8: a character beyond the BMP is encoded as two surrogates of three bytes each, and NUL as two bytes. A
// name in a class file may also contain a lone surrogate. Standard UTF-8 is decoded as well.

/** Character by which a UTF-8 decoder replaces invalid bytes. */
const REPLACED = '\ufffd'

/** Decodes text. Bytes that are invalid in modified UTF-8 and in standard UTF-8 become U+FFFD. */
export function jvmText(bytes: Buffer, begin = 0, end = bytes.length): string {
  const text = bytes.toString('utf8', begin, end)
  return text.includes(REPLACED) ? withSurrogates(bytes.subarray(begin, end)) : text
}

function withSurrogates(bytes: Buffer): string {
  let exact = ''
  let from = 0
  for (let at = 0; at < bytes.length; at++) {
    const [first = 0, second = 0, third = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]]
    const isNul = first === 0xc0 && second === 0x80
    const isSurrogate = first === 0xed && second >= 0xa0 && second <= 0xbf && third >>> 6 === 0b10
    if (!isNul && !isSurrogate) continue
    const unit = isNul ? 0 : 0xd000 | ((second & 0x3f) << 6) | (third & 0x3f)
    exact += bytes.toString('utf8', from, at) + String.fromCharCode(unit)
    from = at + (isNul ? 2 : 3)
    at = from - 1
  }
  return exact + bytes.toString('utf8', from)
}
