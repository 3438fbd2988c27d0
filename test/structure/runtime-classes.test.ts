// The runtime's classes are initialised together (decision 48). A class first used when stack or memory is exhausted
// would stay unusable for the lifetime of the JVM. The same holds for JDK classes that only jfluid uses.

import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { jarEntries } from '../support/jar.ts'

const sources = new URL('../../backend-java/runtime/java/lang/', import.meta.url)
/**
 * JFluid1Session initialises the other classes (JFluid1Tsc through one of its fields, if permitted). Only the name of JFluid1Layout is used
 * at run time.
 */
const EXCEPT = ['JFluid1Session', 'JFluid1Tsc', 'JFluid1Layout']

describe('classes of the runtime', () => {
  const session = readFileSync(new URL('JFluid1Session.java', sources), 'utf8')
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((it) =>
    it.endsWith('.java'),
  )
  const classes = files.map((file) => basename(file, '.java'))

  it.each(classes.filter((name) => !EXCEPT.includes(name)))(
    'the runtime class %s is initialized when the session is initialized',
    (name) => {
      expect(session).toContain(`U.ensureClassInitialized(${name}.class);`)
    },
  )
})

describe('the classes of the agent', () => {
  const jar = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))
  const agent = jarEntries(jar, /^agent\/.*\.class$/)
  const naming = (text: string) =>
    agent.filter(({ bytes }) => Buffer.from(bytes).includes(text)).map(({ path }) => path)

  it('the agent uses no Java streams, because a detach without metaspace would leave the stream classes unusable for the program', () => {
    expect(agent.length).toBeGreaterThan(20)
    expect(naming('java/util/stream/')).toEqual([])
  })

  it('the agent contains no string concatenation by invokedynamic (decision 76)', () => {
    expect(naming('StringConcatFactory')).toEqual([])
  })

  it('the agent has no lambdas, whose classes are created at first use, possibly without metaspace', () => {
    expect(naming('LambdaMetafactory')).toEqual([])
  })
})
