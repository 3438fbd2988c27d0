// Modified UTF-8 (JVMS 4.4.7): NUL is encoded as two bytes, and a character beyond the BMP as two surrogates of
// three bytes each. A lone surrogate is legal, so a name may be malformed Unicode.

import { ClassFormatProblem } from './problem.ts'

/** @throws ClassFormatProblem if the bytes are not modified UTF-8 */
export function decodeModifiedUtf8(bytes: Uint8Array, start: number, end: number): string {
  for (let at = start; ; at++) {
    if (at === end) return ascii(bytes, start, end)
    if (bytes[at] === 0 || bytes[at] >= 0x80) break
  }
  const units: number[] = []
  for (let at = start; at < end; ) {
    const first = bytes[at]
    const length = first < 0x80 ? 1 : first >>> 5 === 0b110 ? 2 : first >>> 4 === 0b1110 ? 3 : 0
    if (first === 0 || length === 0 || at + length > end) malformed(at)
    for (let i = 1; i < length; i++) if (bytes[at + i] >>> 6 !== 0b10) malformed(at)
    if (length === 1) units.push(first)
    else if (length === 2) units.push(((first & 0x1f) << 6) | (bytes[at + 1] & 0x3f))
    else units.push(((first & 0x0f) << 12) | ((bytes[at + 1] & 0x3f) << 6) | (bytes[at + 2] & 0x3f))
    at += length
  }
  return Buffer.from(Uint16Array.from(units).buffer).toString('utf16le') // keeps lone surrogates
}

function ascii(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
}

function malformed(at: number): never {
  throw new ClassFormatProblem(`malformed UTF-8 at offset ${at}`)
}

export function encodeModifiedUtf8(text: string): Uint8Array {
  const bytes: number[] = []
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit !== 0 && unit < 0x80) bytes.push(unit)
    else if (unit < 0x800) bytes.push(0xc0 | (unit >>> 6), 0x80 | (unit & 0x3f))
    else bytes.push(0xe0 | (unit >>> 12), 0x80 | ((unit >>> 6) & 0x3f), 0x80 | (unit & 0x3f))
  }
  return Uint8Array.from(bytes)
}
