import { describe, expect, it } from 'vitest'
import { isJdkName } from '../../src/base/jdk-names.ts'

describe('names of the JDK', () => {
  it.each(['org.xml.Parser', 'javafx.Scene', 'com.sunny.Day', 'org.w3c.domain.X', 'sun', 'Main'])(
    '%s is not a name of the JDK',
    (name) => {
      expect(isJdkName(name)).toBe(false)
    },
  )

  it('names of the JDK may be patterns', () => {
    expect(['org.xml.sax.**', 'java.util.*', 'com.sun.**'].every(isJdkName)).toBe(true)
  })
})
