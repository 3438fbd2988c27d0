// A JVM with jfluid accepts and rejects class files in which no probe can be inserted exactly as without jfluid.

import assert from 'node:assert/strict'
import { it } from 'vitest'
import { MAX_POOL_COUNT } from '../../src/classfile/constant-pool.ts'
import { forEachJdk } from '../support/jdks.ts'
import { hotspotVerdicts } from '../typecheck/verdicts.ts'
import { half, lies, withEntries } from './refused-classes.ts'

forEachJdk((jdk) => {
  it('without probes, HotSpot accepts a class with a full constant pool or the largest method, and refuses an attribute with a wrong length', async () => {
    const classes = [
      withEntries(half(), MAX_POOL_COUNT),
      half('nop*65528 |').bytes,
      ...lies().map(({ bytes }) => bytes),
    ]
    const verdicts = await hotspotVerdicts(
      jdk,
      [],
      classes.map((bytes) => ({ name: 'T', bytes })),
    )
    assert.deepEqual(verdicts.slice(0, 2), ['[accepted]', '[accepted]'])
    for (const verdict of verdicts.slice(2)) assert.match(verdict, /^\[unloaded java\.lang\.ClassFormatError/)
  })
})
