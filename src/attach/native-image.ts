// Recognises a GraalVM native image: a Java program that was compiled ahead of time into an executable file without a JVM.
// A native image maps no libjvm, so the memory maps do not show it. Its file has a section for the objects of the program.

import { closeSync, readSync } from 'node:fs'
import { ifVisible } from '../base/visible.ts'
import { openRegular } from './regular-file.ts'

// Header of an ELF file of 64 bits, from the System V ABI. Little-endian.
//
//   offset  size  field
//        0     4  magic          7f 45 4c 46
//        4     1  class          2: 64 bits
//        5     1  data           1: little-endian
//       40     8  sections       offset of the table of section headers
//       58     2  section size   bytes of a section header
//       60     2  section count
//       62     2  names          number of the section with the names of the sections
const MAGIC = 0x7f454c46
const CLASS = 4
const DATA = 5
const SECTIONS = 40
const SECTION_SIZE = 58
const SECTION_COUNT = 60
const NAMES = 62
const HEADER_BYTES = 64
const CLASS_64 = 2
const LITTLE_ENDIAN = 1

// A section header:
//
//   offset  size  field
//        0     4  name    offset in the section of names
//       24     8  offset  of the contents in the file
//       32     8  size    of the contents
const CONTENT_OFFSET = 24
const CONTENT_SIZE = 32
const SECTION_HEADER_BYTES = 64

/** Section of the objects that exist when a native image starts: `SectionName.SVM_HEAP` of the image builder. */
const HEAP_SECTION = '\0.svm_heap\0'

/** Maximum size of the names of the sections. A usual program has less than a KiB. */
const MAX_BYTES = 1 << 16

/** Reads part of a file; may return fewer bytes. */
export type ReadPart = (offset: number, bytes: number) => Buffer

/** Returns whether a program file is a native image. False for a file that is no ELF file of 64 bits, or is damaged. */
export function hasImageHeap(read: ReadPart): boolean {
  const header = read(0, HEADER_BYTES)
  if (header.length < HEADER_BYTES || header.readUInt32BE(0) !== MAGIC) return false
  if (header[CLASS] !== CLASS_64 || header[DATA] !== LITTLE_ENDIAN) return false
  const size = header.readUInt16LE(SECTION_SIZE)
  const names = header.readUInt16LE(NAMES)
  if (size < SECTION_HEADER_BYTES || names >= header.readUInt16LE(SECTION_COUNT)) return false
  const section = read(Number(header.readBigUInt64LE(SECTIONS)) + names * size, SECTION_HEADER_BYTES)
  if (section.length < SECTION_HEADER_BYTES) return false
  const length = Math.min(Number(section.readBigUInt64LE(CONTENT_SIZE)), MAX_BYTES)
  return read(Number(section.readBigUInt64LE(CONTENT_OFFSET)), length).includes(HEAP_SECTION)
}

/** Returns whether a process runs a native image; false if its program file is unreadable. */
export function isNativeImage(pid: number): boolean {
  return (
    ifVisible(() => {
      const file = openRegular(`/proc/${pid}/exe`)
      if (file === undefined) return false
      try {
        return hasImageHeap((offset, bytes) => {
          const part = Buffer.alloc(bytes)
          return part.subarray(0, readSync(file, part, 0, bytes, offset))
        })
      } finally {
        closeSync(file)
      }
    }) ?? false
  )
}
