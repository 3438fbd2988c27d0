import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isJdkName } from '../../src/base/jdk-names.ts'
import { forEachJdk } from '../support/jdks.ts'

describe('names of the JDK', () => {
  forEachJdk((jdk) => {
    it('are those of all classes of its image', () => {
      const image = join(jdk.home, 'lib', 'modules')
      const listed = execFileSync(join(jdk.home, 'bin', 'jimage'), ['list', image], {
        encoding: 'utf8',
        maxBuffer: 64 << 20,
      })
      const classes = [...listed.matchAll(/^\s+(\S+\/\S+)\.class$/gm)].map((m) => m[1]!)
      expect(classes.length).toBeGreaterThan(10_000)
      expect(classes.filter((name) => !isJdkName(name))).toEqual([])
      expect(classes.filter((name) => !isJdkName(name.replaceAll('/', '.')))).toEqual([])
    })
  })

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
