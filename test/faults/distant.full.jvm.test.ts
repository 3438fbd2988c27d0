// A JVM on another machine, over a link that delays and loses packets and is cut for longer than a connection survives. The rate of the
// view of a hundred thousand contexts is limited, the session continues, and the profile is exact in the end. Uses two network namespaces,
// and needs root.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { threadNames } from '../live/remains.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { cli, type JsonNode, readProfileJson, stderrLine, sumsAreExact } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'
import { type Link, type LinkOptions, link } from './distant-link.ts'
import { type Chance, type Outcome, TRIAL_MS, times, trials } from './trials.ts'

/** Number of contexts of fix.Broad. */
const CONTEXTS = 111_111

/** Maximum rate of all data sent to the view, including headers and retransmissions. */
const MOST_BYTES_PER_SECOND = 1_000_000
const SECONDS = 10
/** Longer than the timeout of a silent connection. */
const CUT_MS = 20_000

const LINKS: readonly (LinkOptions & { readonly name: string })[] = [
  { name: 'no delay and no loss', delayMs: 0, loss: 0 },
  { name: '40 ms delay each way and 1 % loss', delayMs: 40, loss: 0.01 },
]

it('the machine can create a network for the tests of remote JVMs', () => {
  expect(process.geteuid?.()).toBe(0)
  expect(existsSync('/dev/net/tun')).toBe(true)
  expect(spawnSync('ip', ['netns', 'list']).status).toBe(0)
})

describe('a JVM over a slow network', { timeout: TRIAL_MS }, () => {
  forEachJdk((jdk) => {
    it.each(LINKS)(
      'a live view and its profile are exact over a network link with $name',
      async ({ name, ...options }) => {
        const classes = await compileFixture(jdk, 'Broad')
        await trials(
          `another machine, all of ${CONTEXTS} contexts change: ${name}`,
          jdk,
          times(2),
          (chance) => seen(jdk, classes, options, chance),
        )
      },
    )
  })
})

async function seen(jdk: Jdk, classes: string, options: LinkOptions, chance: Chance): Promise<Outcome> {
  const between = await link(options, chance)
  try {
    return await drawn(between, jdk, classes)
  } finally {
    between.close()
  }
}

async function drawn(between: Link, jdk: Jdk, classes: string): Promise<Outcome> {
  const java = beside(between, jdk.java, '-cp', classes, 'fix.Broad')
  await java.line(/ready/)
  const listener = beside(between, process.execPath, cli, 'proxy', '--listen', `${between.there.address}:0`)
  await stderrLine(listener, /KEY=/)
  const [, address] = /listening at ([\d.]+:\d+)/.exec(listener.stderr())!
  const file = join(temporaryDirectory(), 'p.jfluid')
  const view = new Terminal(
    [
      ...['ip', 'netns', 'exec', between.here.namespace, process.execPath, cli],
      ...['attach', `tcp://${address}/${java.pid}`, '--root', 'fix.Broad.root', '--out', file],
    ],
    { columns: 120, before: `export ${/JFLUID_PROXY_KEY=\S+/.exec(listener.stderr())![0]}` },
  )
  const shows = (what: RegExp) => view.until((screen) => what.test(screen.join('\n')))
  await shows(/waiting for root/)
  java.send('all')
  await shows(/recording/)
  await shows(/contexts are not up to date/)
  const perSecond: number[] = []
  for (let second = 0; second < SECONDS; second++) {
    const before = between.bytes.toHere
    await sleep(1000)
    perSecond.push(between.bytes.toHere - before)
  }
  const mean = perSecond.reduce((sum, it) => sum + it) / SECONDS
  between.isCut = true
  const cut = sleep(CUT_MS)
  await shows(/connection to tcp.*reconnecting/)
  await cut
  between.isCut = false
  const uncut = performance.now()
  await view.until((screen) => !screen.join('\n').includes('reconnecting'))
  const againMs = performance.now() - uncut
  java.send('stop')
  await java.line(/stopped/)
  const calls = Number(/stopped (\d+)/.exec(java.stdout())?.[1])
  const stopped = performance.now()
  await view.until((screen) => !screen.join('\n').includes('contexts are not up to date'))
  await shows(new RegExp(` ${calls.toLocaleString('en')} .*Broad\\.root`))
  const caughtUpMs = performance.now() - stopped
  view.send('q')
  const wrong: string[] = []
  const { code } = await view.exit
  if (code !== 0) wrong.push(`the view ended with ${code}: ${view.scrollback().join('\n')}`)
  if (mean > MOST_BYTES_PER_SECOND) wrong.push(`${mean} bytes a second`)
  const profile = await readProfileJson(file)
  const contexts = [...nodesOf(profile.merged)]
  if (contexts.length !== CONTEXTS) wrong.push(`${contexts.length} contexts`)
  if (contexts.some((it) => it.calls !== calls)) wrong.push(`a context without its ${calls} calls`)
  if (!sumsAreExact(profile.merged)) wrong.push('times that do not add up')
  const threads = await threadNames(java.pid)
  await java.kill()
  await listener.kill()
  return {
    harm: [],
    wrong,
    profile: 'kept',
    left: threads.filter((it) => it.includes('jfluid')),
    ms: { 'connected again': againMs, 'all told after the last call': caughtUpMs },
    figures: {
      'over the link': [Math.round(mean / 1000), 'kB/s'],
      'most in a second': [Math.round(Math.max(...perSecond) / 1000), 'kB'],
      'packets lost': [between.packets.lost, ''],
    },
  }
}

/** Starts a command in the network namespace of the target. */
function beside({ there }: Link, ...command: readonly string[]): JavaProcess {
  return startProcess('ip', ['netns', 'exec', there.namespace, ...command])
}

function* nodesOf(nodes: readonly JsonNode[]): Generator<JsonNode> {
  const left = [...nodes]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next
    left.push(...next.children)
  }
}
