import assert from 'node:assert/strict'
import { it } from 'vitest'
import { heapMost, heapUsed } from '../../src/attach/memory-room.ts'

it.each<[string, string, number]>([
  [
    'SerialGC',
    ` def new generation   total 7424K, used 6604K [0x1, 0x2, 0x3)
  eden space 6656K,  99% used [0x1, 0x2, 0x3)
 tenured generation   total 16384K, used 904K [0x1, 0x2, 0x3)
   the space 16384K,   5% used [0x1, 0x2, 0x3, 0x4)
 Metaspace       used 5978K, committed 6144K, reserved 1114112K
  class space    used 600K, committed 700K, reserved 1048576K`,
    7508 << 10,
  ],
  [
    'G1',
    ' garbage-first heap   total 24576K, used 21504K [0x1, 0x2)\n  region size 1024K, 1 young (1024K)',
    21504 << 10,
  ],
  [
    'G1 on JDK 25',
    ' garbage-first heap   total reserved 24576K, committed 24576K, used 3512K [0x1, 0x2)',
    3512 << 10,
  ],
  ['ZGC', ' ZHeap           used 6M, capacity 64M, max capacity 64M', 6 << 20],
  [
    'Shenandoah',
    'Shenandoah Heap\n 64M max, 64M soft max, 64M committed, 3M used\n 256 x 256K regions',
    3 << 20,
  ],
  ['an unknown collector', ' heap of 64 MB', 0],
])('the used heap size is read from the output of %s', (_, info, bytes) =>
  assert.equal(heapUsed(info), bytes),
)

it.each<[string, string, number | undefined]>([
  ['SerialGC', ' def new generation   total 7424K, used 6604K [0x1, 0x2, 0x3)', undefined],
  [
    'G1',
    ' garbage-first heap   total 24576K, used 21504K [0x00000000fb000000, 0x0000000100000000)',
    80 << 20,
  ],
  [
    'G1 on JDK 25',
    'garbage-first heap   total reserved 81920K, committed 24576K, used 2764K [0x00000000fb000000, 0x0000000100000000)',
    80 << 20,
  ],
  ['ZGC', ' ZHeap           used 6M, capacity 32M, max capacity 64M', 64 << 20],
  ['Shenandoah', 'Shenandoah Heap\n 81920K max, 64M soft max, 64M committed, 3M used', 80 << 20],
  ['an unknown collector', ' heap of 64 MB', undefined],
])('the maximum heap size is read from the output of %s', (_, info, bytes) =>
  assert.equal(heapMost(info), bytes),
)
