// The runtime's classes are initialised together (DECISIONS 48): one that is first needed where stack or memory is short
// would be lost for the life of the JVM.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const sources = new URL('../../backend-java/runtime/java/lang/', import.meta.url)
/** The one that initialises the others, and one of which nothing is left at run time but its name. */
const EXCEPT = ['JFluid1Session', 'JFluid1Layout']

describe('classes of the runtime', () => {
  const session = readFileSync(new URL('JFluid1Session.java', sources), 'utf8')
  const classes = readdirSync(sources).map((file) => file.replace(/\.java$/, ''))

  it.each(classes.filter((name) => !EXCEPT.includes(name)))('%s is initialised with the session', (name) => {
    expect(session).toContain(`U.ensureClassInitialized(${name}.class);`)
  })
})
