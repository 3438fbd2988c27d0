// The package that `npm pack` creates can be installed, and the installed jfluid can profile.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'

const root = join(import.meta.dirname, '../..')

it('npm pack creates a package that can be installed, and the installed jfluid profiles without a JDK compiler', async () => {
  const place = temporaryDirectory('jfluid-package-')
  const npm = (...args: string[]) => {
    const ran = spawnSync('npm', [...args, '--silent', '--no-audit', '--no-fund', '--prefer-offline'], {
      ...{ cwd: root, encoding: 'utf8', timeout: 120_000 },
    })
    expect(ran.status, ran.stderr).toBe(0)
    return ran.stdout
  }
  // The package is built already. It is not built again, because other tests use it at the same time.
  npm('pack', '--ignore-scripts', '--pack-destination', place)
  const [file = ''] = readdirSync(place)
  expect(file).toBe('jfluid-0.1.0.tgz')
  npm('install', '--global', '--prefix', join(place, 'prefix'), join(place, file))
  const installed = join(place, 'prefix/lib/node_modules/jfluid')
  expect(existsSync(join(installed, 'dist/agent/jfluid-agent.jar'))).toBe(true)
  expect(existsSync(join(place, 'prefix/share/man/man1/jfluid.1'))).toBe(true)

  const java = startJava(newest, ['-cp', await compileFixture(newest, 'Ticker'), 'fix.Ticker'])
  await java.line(/ready/)
  const out = join(place, 'p.jfluid')
  const command = ['record', `${java.pid}`, '--root', 'fix.Ticker.work', '--duration', '1s', '--out', out]
  const { JAVA_HOME: _, JFLUID_JDKS: __, ...env } = process.env
  const p = startProcess(join(place, 'prefix/bin/jfluid'), command, {
    env: { ...env, JAVA_HOME: undefined, PATH: dirname(process.execPath) },
  })
  const { code } = await p.exit
  expect(code, p.stderr()).toBe(0)
  expect((await readProfile(out)).events.count).toBeGreaterThan(0)
}, 180_000)
