import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { metaspaceLeft, metaspaceLimit } from '../../src/attach/memory-room.ts'

/** Returns the output of JDK 17. JDK 25 prints the same after two further lines. */
const report = (max: string, both: string, classSpace = '32768.00 KB reserved,     128.00 KB'): string => `
Usage:
  Non-class:     76.29 KB used.
      Class:      3.32 KB used.
       Both:     79.61 KB used.

Virtual space:
  Non-class space:    65536.00 KB reserved,     192.00 KB ( <1%) committed,  1 nodes.
      Class space:    ${classSpace} ( <1%) committed,  1 nodes.
             Both:    98304.00 KB reserved,     ${both} ( <1%) committed.${' '}

Chunk freelists:
   Non-Class:  12284.00 KB

MaxMetaspaceSize: ${max}
CompressedClassSpaceSize: 32768.00 KB
`

describe('the limit of metaspace, read from JVM options', () => {
  it.each([
    ['-XX:MaxMetaspaceSize=256m', 256 * 2 ** 20],
    ['-ea -XX:MaxMetaspaceSize=1G -XX:MaxMetaspaceSize=98304K -Xmx1g', 96 * 2 ** 20],
    ['-XX:MaxMetaspaceSize=33554432', 32 * 2 ** 20],
    ['-Dtext=-XX:MaxMetaspaceSize=1m', Number.POSITIVE_INFINITY],
    ['', Number.POSITIVE_INFINITY],
  ])('the metaspace limit is read from the JVM options %j', (options, bytes) => {
    assert.equal(metaspaceLimit(options), bytes)
  })
})

describe('available metaspace', () => {
  it('available metaspace is the metaspace limit minus the committed size', () => {
    assert.equal(metaspaceLeft(report('24576.00 KB', '20000.00 KB')), 4576 * 1024)
  })

  it('available metaspace is unlimited without a metaspace limit', () => {
    assert.equal(metaspaceLeft(report('unlimited', '20000.00 KB')), Number.POSITIVE_INFINITY)
  })

  it('available metaspace is the free class space if the class space is nearly full', () => {
    const full = report('unlimited', '1100.00 KB', '1024.00 KB reserved,     1000.00 KB')
    assert.equal(metaspaceLeft(full), 24 * 1024)
  })

  it('available metaspace is unlimited if the JVM replies with an error', () => {
    assert.equal(
      metaspaceLeft('java.lang.IllegalArgumentException: Unknown diagnostic command'),
      Number.POSITIVE_INFINITY,
    )
  })
})
