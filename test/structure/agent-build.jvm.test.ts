// Agent and runtime are built for Java 11 and Boot for Java 8, by any JDK, and the build prints nothing.

import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { jarClasses } from '../support/jar.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'

/** Class file versions, JVMS 4.1. */
const JAVA_8 = 52
const JAVA_11 = 55

forNewestJdk((jdk) => {
  const build = fileURLToPath(new URL('../../backend-java/build.mjs', import.meta.url))
  const dir = temporaryDirectory('jfluid-agent-build-')
  const { status, stdout, stderr } = spawnSync(process.execPath, [build, dir], {
    encoding: 'utf8',
    env: { ...process.env, JAVA_HOME: dirname(dirname(jdk.javac)) },
  })

  it('javac builds the agent without warnings', () => {
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
  })

  it.each([
    [JAVA_11, 'agent'],
    [JAVA_11, 'runtime'],
    [JAVA_8, 'jfluid'],
  ])('class files have version %i in the folder %s/', (version, folder) => {
    const classes = jarClasses(join(dir, 'jfluid-agent.jar')).filter(({ path }) =>
      path.startsWith(`${folder}/`),
    )
    const versions = classes.map(({ bytes }) => Buffer.from(bytes).readUInt16BE(6))
    expect([...new Set(versions)]).toEqual([version])
  })
})
