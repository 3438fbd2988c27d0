import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isJdkName } from '../../src/base/jdk-names.ts'
import { forEachJdk } from '../support/jdks.ts'

forEachJdk((jdk) => {
  it("every class in the JDK's runtime image is recognised as a JDK class", () => {
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
