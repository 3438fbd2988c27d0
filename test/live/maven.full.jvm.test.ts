// `jfluid run -- mvn`: the JVMs that Maven starts for Surefire and Failsafe, and the JVM of Maven. Needs mvn, which fetches JUnit and plugins.

import { execFileSync } from 'node:child_process'
import { beforeAll, expect, it, vi } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { forEachJdk } from '../support/jdks.ts'
import { type BuildOptions, ran, recorded, sources, type TestClass, written } from './build-tool-project.ts'

vi.setConfig({ testTimeout: 600_000 })

beforeAll(() => {
  execFileSync('mvn', ['--version']) // throws if mvn is missing
})

const LAUNCHER = 'org.codehaus.plexus.classworlds.launcher.Launcher'

const pom = (parts: string): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId>
  <version>1</version>
  ${parts}
</project>
`

const plugin = (name: string, version: string, more = ''): string =>
  `<plugin><artifactId>maven-${name}-plugin</artifactId><version>${version}</version>${more}</plugin>`

const GOALS =
  '<executions><execution><goals><goal>integration-test</goal><goal>verify</goal></goals></execution></executions>'

const module = (name: string): string =>
  pom(`<artifactId>${name}</artifactId>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency>
  </dependencies>
  <build><plugins>
    ${plugin('resources', '3.3.1')}
    ${plugin('compiler', '3.14.1')}
    ${plugin('jar', '3.4.2')}
    ${plugin('surefire', '3.5.2')}
    ${plugin('failsafe', '3.5.2', GOALS)}
  </plugins></build>`)

/** Returns a build with Maven. A project with one module has no parent. */
function maven(
  modules: readonly (readonly TestClass[])[],
  ...args: readonly string[]
): BuildOptions['build'] {
  const names = modules.map((_, at) => (modules.length === 1 ? '.' : `m${at}`))
  const parent = pom(
    `<artifactId>all</artifactId><packaging>pom</packaging><modules>${names.map((it) => `<module>${it}</module>`).join('')}</modules>`,
  )
  return () => {
    const files = new Map([
      ...sources(Object.fromEntries(modules.map((tests, at) => [names[at]!, tests]))),
      ...(modules.length > 1 ? [['pom.xml', parent] as const] : []),
      ...names.map((it, at) => [`${it}/pom.xml`, module(`m${at}`)] as const),
    ])
    return { directory: written(files), command: ['mvn', '--batch-mode', '--quiet', ...args] }
  }
}

const FIRST: TestClass = { name: 'FirstTest', calls: 3 }
const SECOND: TestClass = { name: 'SecondTest', calls: 5 }
const IDLE: TestClass = { name: 'IdleTest', calls: 0 }
/**
 * With scheme a, there are fewer gaps on a busy machine. In the JVM of Maven, scheme a would also give probes to Maven's class loaders,
 * since a root may load classes.
 */
const SCHEME = ['--scheme', 'a']
const SUREFIRE = expect.stringMatching(/^surefire\S*\.jar$/)

forEachJdk((jdk) => {
  it('the JVMs of Surefire and of Failsafe are recorded, and their sum has each call', async () => {
    const build = maven([[FIRST, SECOND, { name: 'TillIT', calls: 7 }]], 'verify')
    const built = await recorded({ jdk, build, options: SCHEME }, 15)
    expect(built.code, built.stdout + built.stderr).toBe(0)
    expect(built.calls).toEqual([
      [SUREFIRE, 7],
      [SUREFIRE, 8],
    ])
    expect(built.stderr).toMatch(/^2 JVMs called a root; the profile is their sum$/m)
  })

  it('with forkCount=2, both JVMs are recorded', async () => {
    const together: readonly TestClass[] = [
      { ...FIRST, meets: 'SecondTest' },
      { ...SECOND, meets: 'FirstTest' },
      IDLE,
    ]
    const build = maven([together], '-DforkCount=2', '-DreuseForks=true', 'test')
    const built = await recorded({ jdk, build, options: SCHEME }, 8)
    expect(built.code, built.stdout + built.stderr).toBe(0)
    expect(built.calls).toEqual([
      [SUREFIRE, 3],
      [SUREFIRE, 5],
    ])
  })

  it('with forkCount=0, tests run in the JVM of Maven, which is recorded', async () => {
    const built = await recorded(
      { jdk, build: maven([[FIRST, SECOND]], '-DforkCount=0', 'test'), mayHaveGaps: true },
      8,
    )
    expect(built.code, built.stdout + built.stderr).toBe(0)
    expect(built.calls).toEqual([[LAUNCHER, 8]])
  })

  it('modules that are built in parallel have a JVM each, and --jvm selects these JVMs', async () => {
    const modules = [[{ ...FIRST, meets: 'SecondTest' }], [{ ...SECOND, meets: 'FirstTest' }], [IDLE]]
    const built = await recorded(
      {
        jdk,
        build: maven(modules, '-T', '2', 'test'),
        options: [...SCHEME, '--jvm', 'surefire'],
      },
      8,
    )
    expect(built.code, built.stdout + built.stderr).toBe(0)
    expect(built.calls).toEqual([
      [SUREFIRE, 3],
      [SUREFIRE, 5],
    ])
  })

  it('a failed test fails the build with the exit code of Maven, and its calls are in the profile', async () => {
    const built = await recorded(
      {
        jdk,
        build: maven([[FIRST, { ...SECOND, fails: true }]], 'test'),
        options: SCHEME,
      },
      8,
    )
    expect(built.code, built.stdout + built.stderr).toBe(1)
    expect(built.stdout).toMatch(/this test fails/)
  })

  it('if no test calls the root, the error lists the JVMs', async () => {
    const { code, stderr } = await ran({ jdk, build: maven([[IDLE]], 'test') })
    expect(code, stderr).toBe(STATUS.rootNeverCalled)
    expect(stderr).toMatch(
      /no call of shop\.Till\.pay was recorded in the 2 JVMs of the command: .*surefire.*Launcher/,
    )
  })
})
