// `jfluid run -- gradle`: the test JVMs of Gradle, without a daemon, with a new daemon, and with a daemon that already runs. Needs gradle, and
// mvn, which fetches JUnit.

import { execFileSync } from 'node:child_process'
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { STATUS } from '../support/exit-codes.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forJdks } from '../support/jdks.ts'
import { type Artifact, mavenArtifact } from '../support/maven.ts'
import { type BuildOptions, ran, recorded, sources, written } from './build-tool-project.ts'

vi.setConfig({ testTimeout: 900_000, hookTimeout: 300_000 })

const JUNIT: readonly Artifact[] = [
  {
    coordinates: 'junit:junit:4.13.2',
    sha256: '8e495b634469d64fb8acfa3495a065cbacc8a0fff55ce1e31007be4c16dc57d3',
  },
  {
    coordinates: 'org.hamcrest:hamcrest-core:1.3',
    sha256: '66fdef91e9739348df7a096aa384a5685f4e875584cce89386a7a47251c4d8e9',
  },
]

const WORKER = 'worker.org.gradle.process.internal.worker.GradleWorkerMain'

let jars: readonly string[]
beforeAll(async () => {
  execFileSync('gradle', ['--version']) // throws if gradle is missing
  jars = await Promise.all(JUNIT.map((it) => mavenArtifact(it)))
})

/** Returns builds of the same project, which share their daemon. */
function gradle(home: string, ...args: readonly string[]): BuildOptions['build'] {
  return () => {
    const files = new Map(
      sources({
        '.': [
          { name: 'FirstTest', calls: 3 },
          { name: 'SecondTest', calls: 5 },
        ],
      }),
    )
    const list = jars.map((it) => `'${it}'`).join(', ')
    files.set('build.gradle', `apply plugin: 'java'\ndependencies { testImplementation files(${list}) }\n`)
    files.set('settings.gradle', "rootProject.name = 'shop'\n")
    const options = ['--offline', '--gradle-user-home', home, ...args]
    return { directory: written(files), command: ['gradle', ...options, 'test'] }
  }
}

forJdks({ before: 18, reason: 'Gradle 4.4.1, the one of Debian, does not know newer JDKs' }, (jdk) => {
  it('without a daemon, the test JVM is recorded', async () => {
    const home = temporaryDirectory('jfluid-gradle-')
    const built = await recorded({ jdk, build: gradle(home, '--no-daemon') }, 8)
    expect(built.code, built.stdout + built.stderr).toBe(0)
    expect(built.calls).toEqual([[WORKER, 8]])
  })

  it('with a new daemon, the test JVM is recorded and the daemon gets its code back; the next build says that a daemon runs', async () => {
    const home = temporaryDirectory('jfluid-gradle-')
    onTestFinished(() => {
      const env = { ...process.env, JAVA_HOME: jdk.home }
      execFileSync('gradle', ['--gradle-user-home', home, '--stop'], { env })
    })
    const build = gradle(home)
    const first = await ran({ jdk, build })
    expect(first.code, first.stdout + first.stderr).toBe(0)
    expect(first.stderr).toMatch(/^JVM \d+ \(\S*GradleWorkerMain\): 8 root calls recorded$/m)
    expect(first.stderr).toMatch(/^JVM \d+ \(\S*GradleDaemon\): detached from \d+ .*of jfluid remains$/m)

    const second = await ran({ jdk, build })
    expect(second.code, second.stderr).toBe(STATUS.rootNeverCalled)
    expect(second.stdout).toMatch(/BUILD SUCCESSFUL/)
    expect(second.stderr).toMatch(/a daemon that already runs does not load the agent \(gradle --no-daemon\)/)
  })
})
