import { describe, expect, it } from 'vitest'
import { isJdkName } from '../../src/base/jdk-names.ts'

describe('recognition of class names of the JDK', () => {
  it.each(['org.xml.Parser', 'javafx.Scene', 'com.sunny.Day', 'org.w3c.domain.X', 'sun', 'Main'])(
    'the name %s is not recognised as a name of the JDK',
    (name) => {
      expect(isJdkName(name)).toBe(false)
    },
  )

  it('patterns that match only JDK classes are recognised as names of the JDK', () => {
    expect(['org.xml.sax.**', 'java.util.*', 'com.sun.**'].every(isJdkName)).toBe(true)
  })
})
