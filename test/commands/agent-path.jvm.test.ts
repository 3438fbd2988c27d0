// A JVM accepts the option that jfluid agent-path prints.

import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { agentOption, waysToGive } from '../../src/commands/agent-path.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { newest } from '../support/jdks.ts'

it('a JVM starts with the JAVA_TOOL_OPTIONS that agent-path prints, and reads the value as one option', () => {
  for (const folder of [`it's`, `5" disk`]) {
    const jar = join(temporaryDirectory(), folder, 'jfluid-agent.jar')
    cpSync(agentJar().path, jar)
    const line = waysToGive(agentOption(jar)).find((it) => it.includes('export'))!
    const script = `${line.replace(/^.*?(?=export)/, '')}; exec "$0" -version`
    const { status, stderr } = spawnSync('sh', ['-c', script, newest.java], { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(stderr).toContain(`Picked up JAVA_TOOL_OPTIONS: `)
    expect(stderr).not.toContain('jfluid: ')
  }
})
