import { describe, expect, it } from 'vitest'
import { isJdkName } from '../../src/base/jdk-names.ts'

describe('names of the JDK', () => {
  it.each(['org.xml.Parser', 'javafx.Scene', 'com.sunny.Day', 'org.w3c.domain.X', 'sun', 'Main'])(
    'are not %s',
    (name) => {
      expect(isJdkName(name)).toBe(false)
    },
  )

  it('may be patterns', () => {
    expect(['org.xml.sax.**', 'java.util.*', 'com.sun.**'].every(isJdkName)).toBe(true)
  })
})
