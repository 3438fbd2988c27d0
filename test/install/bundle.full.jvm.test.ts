// The archive of `npm run bundle` and the package of `npm pack`, in minimal root directories. Needs root, and the packages podman, runc,
// debootstrap and busybox-static.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest } from '../support/jdks.ts'
import { readProfileJson, stderrLine } from '../support/jfluid.ts'
import { McpClient } from '../support/mcp.ts'
import { minimalRoot, nodeOptions, npmOptions } from '../support/minimal-root.ts'
import { packed } from '../support/package.ts'
import { boxed, LIMITS, NO_NETWORK, podman, rootWith, whyNoContainers } from '../support/podman.ts'
import { checkScript } from './ci-script.ts'
import { expectDetached, twoSessions } from './two-sessions.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 600_000 })

const project = join(import.meta.dirname, '../..')
/** With `sh -e`, a line such as `! command -v java` never ends the script. */
const NO_JAVA = 'if command -v java || command -v javac || [ -e /usr/lib/jvm ]; then exit 1; fi'
const INSTALL = 'npm install --global --no-audit --no-fund /mnt/jfluid.tgz'

interface Tools {
  readonly tools: readonly { readonly name: string; readonly outputSchema: unknown }[]
}

function done(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: project, encoding: 'utf8' })
  expect(status, `${program} ${args.join(' ')}: ${error?.message ?? stderr}`).toBe(0)
  return stdout
}

/** Returns a directory with the tools that jfluid-ci needs. */
function pathWithoutNode(): string {
  const directory = temporaryDirectory()
  for (const tool of ['sh', 'cat', 'dirname', 'mkdir', 'mv', 'readlink', 'rm', 'sed'])
    symlinkSync(done('sh', '-c', 'command -v "$1"', 'sh', tool).trim(), join(directory, tool))
  return directory
}

/** Runs a shell script in a container that has only this root directory. */
function inRoot(root: string, options: readonly string[], script: string): string {
  const { status, stdout, stderr } = podman(
    ...['run', '--rm', ...LIMITS, ...options, '--rootfs', `${root}:O`],
    ...['/bin/sh', '-euc', script],
  )
  expect(status, stdout + stderr).toBe(0)
  return stdout + stderr
}

const out = temporaryDirectory('jfluid-bundle-')
const archive = join(out, 'jfluid-linux-x64.tar.gz')
const unpacked = join(out, 'jfluid-linux-x64')
let root = ''
/** Path of the npm package. */
let tarball = ''
beforeAll(() => {
  expect(process.geteuid?.()).toBe(0)
  expect(whyNoContainers()).toBe('')
  root = minimalRoot()
  expect(done('npm', 'run', '--silent', 'bundle', '--', out)).toMatch(
    new RegExp(`jfluid-linux-x64\\.tar\\.gz: \\d+\\.\\d MiB, with Node\\.js ${process.versions.node}\n$`),
  )
  done('tar', '-xzf', archive, '-C', out)
  tarball = packed()
})

describe('the archive with Node.js', () => {
  it('the same sources give the same bytes, with another umask and another folder for temporary files', () => {
    const again = temporaryDirectory('jfluid-bundle-')
    done('sh', '-c', `umask 077 && TMPDIR=${temporaryDirectory()} npm run --silent bundle -- ${again}`)
    expect(readFileSync(join(again, 'jfluid-linux-x64.tar.gz')).equals(readFileSync(archive))).toBe(true)
  })

  it('the archive contains the packages that jfluid needs at run time, and no name of a registry', () => {
    const installed = readdirSync(join(unpacked, 'lib/jfluid/node_modules'))
    expect(installed).toEqual(
      expect.arrayContaining(['commander', 'ink', 'koffi', 'msgpackr', 'neo-blessed', 'react']),
    )
    expect(
      installed.filter((it) => ['typescript', 'vitest', 'rolldown', '.package-lock.json'].includes(it)),
    ).toEqual([])
    expect(readdirSync(join(unpacked, 'lib/jfluid'))).not.toContain('package-lock.json')
    expect(readFileSync(join(unpacked, 'lib/jfluid/node-LICENSE'), 'utf8')).toContain('Node.js contributors')
    expect(done('find', join(unpacked, 'share'), '-type', 'f', '-printf', '%P\n').split('\n').sort()).toEqual(
      [
        '',
        'bash-completion/completions/jfluid',
        'fish/vendor_completions.d/jfluid.fish',
        'man/man1/jfluid.1',
        'zsh/site-functions/_jfluid',
      ],
    )
  })

  it('all files belong to root, and no file is writable by other users', () => {
    const lines = done('tar', '--numeric-owner', '-tvzf', archive).trim().split('\n')
    expect(lines.filter((it) => !/^(?:[-d]rw[x-]r-[x-]r-[x-]|l.{9}) 0\/0 .* 1985-10-26 /.test(it))).toEqual(
      [],
    )
  })

  it('signals reach jfluid, and its exit code is that of the launcher', async () => {
    const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
    await java.line(/ready/)
    const file = join(temporaryDirectory(), 'p.jfluid')
    const launcher = join(temporaryDirectory(), 'jfluid')
    symlinkSync(join(unpacked, 'bin/jfluid'), launcher)
    const words = ['record', `${java.pid}`, '--root', 'fix.Ticker.work', '--duration', '10m', '--out', file]
    const p = startProcess(launcher, words, { cwd: '/', detached: true })
    await stderrLine(p, /^recording/)
    p.child.kill('SIGINT')
    expect(await p.exit, p.stderr()).toEqual({ code: 0, signal: null })
    expect((await readProfileJson(file)).merged[0]?.calls).toBeGreaterThan(0)
    const wrong = startProcess(launcher, ['record', '--nothing'], { cwd: '/' })
    expect((await wrong.exit).code).toBe(64) // EX_USAGE
  })

  forEachJdk((jdk) => {
    it('jfluid-ci of the archive works without Node.js on the PATH', async () => {
      await checkScript(jdk, join(unpacked, 'bin/jfluid-ci'), { PATH: pathWithoutNode() })
    })
  })

  it('jfluid mcp starts from the archive, and its tools have the schemas of docs/schema', async () => {
    const client = new McpClient([], '/', join(unpacked, 'bin/jfluid'))
    await client.open()
    const { tools } = (await client.request('tools/list', {})) as Tools
    const report = JSON.parse(readFileSync(join(unpacked, 'lib/jfluid/docs/schema/report.json'), 'utf8'))
    expect(tools.find((it) => it.name === 'report')?.outputSchema).toEqual(report)
    expect((await client.call('list')).structuredContent).toMatchObject({ jvms: expect.any(Array) })
  })

  it('in a root directory without glibc, the launcher says what is missing', () => {
    const empty = temporaryDirectory('jfluid-root-')
    for (const it of ['bin', 'tmp', 'proc', 'dev', 'sys', 'etc', 'run', 'jfluid']) mkdirSync(join(empty, it))
    copyFileSync(done('sh', '-c', 'command -v busybox').trim(), join(empty, 'bin/busybox'))
    symlinkSync('busybox', join(empty, 'bin/sh'))
    const { status, stdout, stderr } = podman(
      ...['run', '--rm', ...NO_NETWORK, ...LIMITS, '--volume', `${unpacked}:/jfluid:ro`],
      ...['--rootfs', `${empty}:O`, '/jfluid/bin/jfluid', 'ps'],
    )
    expect(stdout + stderr).toMatch(/needs \/lib64\/ld-linux-x86-64\.so\.2, which does not exist here/)
    expect(status).toBe(69) // EX_UNAVAILABLE
  })
})

describe('the package of npm pack', () => {
  const installed = temporaryDirectory('jfluid-package-')
  beforeAll(() => {
    done('npm', 'install', '--prefix', installed, '--no-audit', '--no-fund', tarball)
  })

  forEachJdk((jdk) => {
    it('jfluid-ci works from an empty directory in which npm has installed the package', () =>
      checkScript(jdk, join(installed, 'node_modules/.bin/jfluid-ci')))
  })
})

describe('in a root directory without a JDK', () => {
  forEachJdk((jdk) => {
    let classes = ''
    let rootOfJvm = ''
    beforeAll(async () => {
      classes = await compileFixture(jdk, 'Ticker')
      rootOfJvm = rootWith(jdk)
    })

    it('jfluid of the archive works without Node.js: it maps the event buffer and profiles a JVM of another container', async () => {
      const said = await boxed(rootOfJvm, classes, [], async ({ name }) =>
        inRoot(
          root,
          [...NO_NETWORK, '--pid', `container:${name}`, '--volume', `${archive}:/jfluid.tar.gz:ro`],
          [
            NO_JAVA,
            'if command -v node; then exit 1; fi',
            'tar -xzf /jfluid.tar.gz -C /usr/local --strip-components=1',
            `cd /usr/local/lib/jfluid && ./node -e "import('koffi').then((it) => console.log('koffi', it.default.version))"`,
            'cd /',
            twoSessions('jfluid', '1'),
            'jfluid report /tmp/p.jfluid',
          ].join('\n'),
        ),
      )
      expect(said).toMatch(/^koffi \d/m)
      expectDetached(said)
      expect(said).toMatch(/Ticker\.work/)
    })

    it('npm installs the package, and jfluid profiles a JVM of another container', async () => {
      const volume = ['--volume', `${tarball}:/mnt/jfluid.tgz:ro`]
      const said = await boxed(rootOfJvm, classes, [], async ({ name }) =>
        inRoot(
          root,
          [...nodeOptions(), ...npmOptions(), '--pid', `container:${name}`, ...volume],
          `${NO_JAVA}\n${INSTALL}\n${twoSessions('jfluid', '1')}`,
        ),
      )
      expectDetached(said)
    })

    it('npm installs the package beside a Java runtime without a compiler, and jfluid profiles a JVM of this runtime', () => {
      const runtime = join(temporaryDirectory('jfluid-runtime-'), 'java')
      const modules = ['--add-modules', 'java.base,java.instrument,java.management,jdk.jfr']
      done(join(jdk.home, 'bin/jlink'), ...modules, '--output', runtime)
      const volumes = [
        `${tarball}:/mnt/jfluid.tgz:ro`,
        `${runtime}:/opt/java:ro`,
        `${classes}:/opt/classes:ro`,
      ]
      const said = inRoot(
        root,
        [...nodeOptions(), ...npmOptions(), ...volumes.flatMap((it) => ['--volume', it])],
        [
          NO_JAVA,
          INSTALL,
          'mkfifo /tmp/ready',
          'sleep 1000 | /opt/java/bin/java -cp /opt/classes fix.Ticker 1 tiny >/tmp/ready &',
          'read -r _ </tmp/ready', // waits for the line "ready"
          twoSessions('jfluid', 'fix.Ticker'),
          'jfluid report /tmp/p.jfluid',
        ].join('\n'),
      )
      expectDetached(said)
      expect(said).toMatch(/Ticker\.work/)
    })
  })
})
