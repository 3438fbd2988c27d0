// The page with a thread dump, in the views of calls and of regions.

import { describe, expect, it } from 'vitest'
import { EX_NOPERM, JfluidError } from '../../src/base/errors.ts'
import { ManyThreads } from '../../src/base/many-threads.ts'
import { ProxySays } from '../../src/remote/errors.ts'
import { LiveView } from '../../src/tui/app.ts'
import { RegionView } from '../../src/tui/region-app.ts'
import { ThreadPage, type ThreadText } from '../../src/tui/thread-page.ts'
import { Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

class Refused extends JfluidError {
  readonly exitCode = EX_NOPERM
  readonly hint = 'Use the user of the JVM.'
}

const TEXT = [
  '4711  App (JDK 25): 30 threads, 30 stacks; the dump stopped the JVM for 1.2 ms',
  '',
  'deadlock of 2 threads:',
  ...Array.from({ length: 30 }, (_, i) => `      at shop.App.part${i}(App.java:${i})`),
]

class Source extends FakeSource {
  dumps = 0
  answer: Promise<ThreadText> = Promise.resolve(() => TEXT)
  readonly overheadNs = 1
  readonly confirmed: boolean[] = []
  readonly dumpThreads: ((isConfirmed: boolean) => Promise<ThreadText>) | undefined = (isConfirmed) => {
    this.dumps++
    this.confirmed.push(isConfirmed)
    return this.answer
  }
  async regions() {
    return []
  }
}

async function shown(kind: 'calls' | 'regions', more: Partial<Source> = {}) {
  const methods = new Methods()
  const source = Object.assign(new Source(methods, treeOf('App.run 1x 9ns', methods)), more)
  const screen = new FakeScreen(80, 24)
  const view = kind === 'calls' ? new LiveView(source, screen) : new RegionView(source, screen)
  await view.refresh()
  return { source, screen, view }
}

describe.each(['calls', 'regions'] as const)('the page of a thread dump in the view of %s', (kind) => {
  it('the key D takes one dump and shows it on a page that scrolls', async () => {
    const { screen, source } = await shown(kind)
    screen.press('D')
    expect(screen.text).toContain('The JVM takes a thread dump.')
    await expect.poll(() => screen.text).toContain('the dump stopped the JVM for 1.2 ms')
    expect(screen.styled('error')).toContain('deadlock of 2 threads:')
    expect(screen.text).not.toContain('shop.App.part29')
    screen.press('end')
    expect(screen.text).toContain('at shop.App.part29(App.java:29)')
    screen.press('escape')
    expect(screen.text).not.toContain('shop.App.part29')
    expect([source.dumps, screen.lines.length, screen.widest <= 80]).toEqual([1, 24, true])
  })

  it('a repeated key D takes no second dump within a second', async () => {
    const { screen, source } = await shown(kind)
    screen.press('D D')
    await expect.poll(() => screen.text).toContain('deadlock of 2 threads:')
    screen.press('end D')
    expect(screen.text, 'the page begins at its first line').toContain('deadlock of 2 threads:')
    expect(source.dumps).toBe(1)
  })

  it('the page shows why a dump failed, and what to do, without control characters', async () => {
    const answer = Promise.reject(new Refused('cannot attach to JVM 4711: it belongs to \u001b[31muid 7'))
    const { screen } = await shown(kind, { answer })
    screen.press('D')
    await expect
      .poll(() => screen.text)
      .toContain('cannot attach to JVM 4711: it belongs to ?[31muid 7. Use the user of the JVM.')
  })

  it('the page of a dump can be read after the end of the session, but no dump is taken', async () => {
    const { screen, source, view } = await shown(kind)
    screen.press('D')
    await expect.poll(() => screen.text).toContain('deadlock of 2 threads:')
    source.end('the JVM ended')
    await expect.poll(() => screen.text).toContain('ended')
    await view.refresh()
    expect(screen.text).toContain('deadlock of 2 threads:')
    screen.press('D')
    expect(screen.text).toContain('the session has ended: no thread dump can be taken')
    expect(source.dumps).toBe(1)
  })

  it('the key D shows a hint and no page if several JVMs are profiled', async () => {
    const { screen } = await shown(kind, { dumpThreads: undefined })
    screen.press('D')
    expect(screen.text).toContain('no thread dump while several JVMs are profiled')
  })
})

describe('the confirmation of a thread dump', () => {
  function pageOf(...answers: (Error | ThreadText)[]) {
    const clock = { now: 0 }
    const confirmed: boolean[] = []
    let drawn = () => {}
    const page = new ThreadPage(
      () => drawn(),
      () => clock.now,
    )
    const source = {
      dumpThreads: async (isConfirmed: boolean): Promise<ThreadText> => {
        confirmed.push(isConfirmed)
        const answer = answers.shift()!
        if (answer instanceof Error) throw answer
        return answer
      },
    }
    /** Presses the key after some time. Waits for the outcome if the key takes a dump. */
    const press = async (afterMs: number): Promise<void> => {
      clock.now += afterMs
      const before = confirmed.length
      const outcome = new Promise<void>((resolve) => {
        drawn = resolve
      })
      page.open(source, true)
      if (confirmed.length > before) await outcome
    }
    return { press, confirmed }
  }
  const many = () => new ManyThreads(4711, 3_006, 'Use the key D again after a second to take the dump.')

  it('a key D that is held down does not confirm a dump of many threads', async () => {
    const { press, confirmed } = pageOf(many())
    await press(0)
    for (let at = 0; at < 100; at++) await press(30)
    expect(confirmed).toEqual([false])
  })

  it('the key D confirms a dump of many threads a second after the question', async () => {
    const { press, confirmed } = pageOf(
      many(),
      () => TEXT,
      () => TEXT,
    )
    await press(0)
    await press(999)
    await press(1_000)
    expect(confirmed).toEqual([false, true])
    await press(1_000)
    expect(confirmed, 'a later dump is not confirmed').toEqual([false, true, false])
  })

  it('the question of a session on another machine can be confirmed', async () => {
    const { message, hint, exitCode } = many()
    const { press, confirmed } = pageOf(new ProxySays(['ManyThreads', message, hint, exitCode]), () => TEXT)
    await press(0)
    await press(1_000)
    expect(confirmed).toEqual([false, true])
  })

  it('after another error, the key D does not confirm a dump', async () => {
    const { press, confirmed } = pageOf(
      new Refused('cannot attach'),
      many(),
      new Refused('no answer'),
      many(),
    )
    for (let at = 0; at < 4; at++) await press(1_000)
    expect(confirmed).toEqual([false, false, true, false])
  })
})
