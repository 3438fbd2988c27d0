// A GraalVM native image is recognised by the section of its program file that contains its objects.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { hasImageHeap, isNativeImage } from '../../src/attach/native-image.ts'

/** Returns an ELF file with these sections, which have no contents; the last section has the names. */
function elf(...names: string[]): Buffer {
  const texts = Buffer.from(`\0${[...names, '.shstrtab'].map((it) => `${it}\0`).join('')}`)
  const count = names.length + 1
  const bytes = Buffer.alloc(64 + texts.length + count * 64)
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1])
  bytes.writeBigUInt64LE(BigInt(64 + texts.length), 40)
  bytes.writeUInt16LE(64, 58)
  bytes.writeUInt16LE(count, 60)
  bytes.writeUInt16LE(count - 1, 62)
  texts.copy(bytes, 64)
  const last = bytes.length - 64
  bytes.writeBigUInt64LE(64n, last + 24)
  bytes.writeBigUInt64LE(BigInt(texts.length), last + 32)
  return bytes
}

const isImage = (bytes: Buffer): boolean =>
  hasImageHeap((offset, length) => bytes.subarray(offset, offset + length))

describe('the program file of a native image', () => {
  it('a program file with a section .svm_heap is a native image', () => {
    assert.equal(isImage(elf('.text', '.svm_heap')), true)
    assert.equal(isImage(elf('.text', '.data')), false)
    assert.equal(isImage(elf('.svm_heaps', '.not.svm_heap2')), false)
    assert.equal(isImage(elf()), false)
  })

  it('a file that is no ELF file of 64 bits is not a native image', () => {
    for (const at of [0, 3, 4, 5]) {
      const bytes = elf('.svm_heap')
      bytes[at] = 9
      assert.equal(isImage(bytes), false)
    }
    assert.equal(isImage(Buffer.alloc(0)), false)
    assert.equal(isImage(Buffer.from('#!/bin/sh\n')), false)
  })

  it('a file that is cut at any place, or has any other byte, throws no error', () => {
    const whole = elf('.text', '.svm_heap')
    for (let length = 0; length < whole.length; length++) isImage(whole.subarray(0, length))
    for (let at = 0; at < whole.length; at++) {
      const bytes = Buffer.from(whole)
      bytes[at] = 0xff
      isImage(bytes)
    }
  })

  it('this process, and a process that does not exist, are not native images', () => {
    assert.equal(isNativeImage(process.pid), false)
    assert.equal(isNativeImage(2 ** 22 + 1), false)
    assert.equal(readFileSync(`/proc/${process.pid}/exe`).includes('\0.svm_heap\0'), false)
  })
})
