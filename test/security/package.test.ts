// Contents of an installation: pinned dependencies, no scripts, and the agent jar of this build.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { AgentDamaged, AgentNotBuilt, agentJar } from '../../src/session/doors/agent-jar.ts'

const root = join(import.meta.dirname, '../..')

interface Locked {
  readonly version: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly hasInstallScript?: boolean
}

interface Lock {
  readonly lockfileVersion: number
  readonly packages: Readonly<Record<string, Locked>>
}

const readJson = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'))
const lock = readJson('package-lock.json') as Lock
const packages = Object.entries(lock.packages).filter(([path]) => path !== '')
const manifest = readJson('package.json') as {
  readonly files: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

describe('dependencies of the package', () => {
  it('dependencies are pinned, each with a content hash', () => {
    expect(packages.length).toBeGreaterThan(10)
    const loose = packages.filter(([, it]) => it.link || !/^sha(?:512|384)-/.test(it.integrity ?? ''))
    expect(loose.map(([path]) => path)).toEqual([])
  })

  it('dependencies come only from the configured registry', () => {
    const elsewhere = packages.filter(([, it]) => it.resolved !== undefined)
    expect(elsewhere.map(([path]) => path)).toEqual([])
    const asked = Object.values({ ...manifest.dependencies, ...manifest.optionalDependencies })
    expect(asked.filter((it) => !/^[\^~]?\d+\.\d+\.\d+$/.test(it))).toEqual([])
  })

  it('dependencies that have an install script are optional and work without this script', () => {
    const scripted = packages.filter(([, it]) => it.hasInstallScript === true && it.dev !== true)
    expect(scripted.filter(([, it]) => it.optional !== true).map(([path]) => path)).toEqual([])
    for (const own of ['install', 'preinstall', 'postinstall']) expect(manifest.scripts[own]).toBeUndefined()
  })

  it('the package depends on exactly the packages that this test lists', () => {
    expect(Object.keys(manifest.dependencies).sort()).toEqual([
      ...[
        '@modelcontextprotocol/server',
        'commander',
        'ink',
        'msgpackr',
        'neo-blessed',
        'pprof-format',
        'react',
      ],
    ])
    expect(Object.keys(manifest.optionalDependencies)).toEqual(['koffi'])
  })
})

describe('the agent in the package', () => {
  it('a missing or modified agent jar is refused', () => {
    const dir = mkdtempSync(join(tmpdir(), 'jfluid-agent-'))
    const folder = pathToFileURL(`${dir}/`)
    try {
      expect(() => agentJar(folder)).toThrow(AgentNotBuilt)
      for (const name of ['jfluid-agent.jar', 'build-id', 'sha256']) {
        cpSync(join(root, 'dist/agent', name), join(dir, name))
      }
      expect(agentJar(folder).build).toBe(agentJar().build)
      const jar = readFileSync(join(dir, 'jfluid-agent.jar'))
      jar[jar.length >> 1]! ^= 1
      writeFileSync(join(dir, 'jfluid-agent.jar'), jar)
      expect(() => agentJar(folder)).toThrow(AgentDamaged)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

it('the package contains the threat model, and the README links to it', () => {
  expect(manifest.files).toContain('SECURITY.md')
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('(SECURITY.md)')
})

it('the package contains the manual', () => {
  expect(manifest.files).toContain('docs')
})
