import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { RootWatch } from '../../../src/session/roots/root-watch.ts'

const METHODS = ['', 'app/Server.serve', 'app/Other.run', 'app/Other.run']

describe('the watch over roots, which reports roots that are not called or not usable', () => {
  let now: number
  let called: number[]
  let roots: { text: string; ids: Set<number>; failed: boolean }[]
  let frames: string[]
  let asked: number
  let watch: RootWatch
  const split = (name: string) => ({
    class: name.slice(0, name.lastIndexOf('.')),
    method: name.slice(name.lastIndexOf('.') + 1),
  })
  const root = (text: string, ...ids: number[]) => ({ text, ids: new Set(ids), failed: false })

  beforeEach(() => {
    now = 0
    called = []
    roots = [root('Server.serve', 1), root('Other.run', 2, 3)]
    frames = []
    asked = 0
    watch = new RootWatch({
      progress: () => roots,
      method: (id) => {
        const { class: className, method: name } = split(METHODS[id])
        return { id, classId: id, methodIndex: 0, className, name, descriptor: '()V', root: true }
      },
      called: async (ids) => {
        asked++
        return ids.filter((it) => called.includes(it))
      },
      stacks: async () => [{ id: 1, name: 'main', frames: frames.map(split) }],
      callees: async (ids) =>
        [...ids].includes(1) ? ['handle', 'pause'].map((name) => ({ className: 'app/Server', name })) : [],
      problemOf: (text) => `root '${text}' will not do. Try another`,
      isJdk: (name) => name.startsWith('java.'),
      nowMs: () => now,
    })
  })

  /** Checks every half second. */
  async function until(ms: number): Promise<string[]> {
    for (; now <= ms; now += 500) await watch.look()
    return watch.notes
  }

  it('the watch over roots reports each uncalled root after five seconds', async () => {
    assert.deepEqual(await until(4500), [])
    assert.deepEqual(await until(5000), [
      'root Server.serve has not been called yet; possible roots, if other methods call them: ' +
        'app.Server.handle, app.Server.pause',
      'root Other.run has not been called yet',
    ])
    assert.deepEqual(await watch.uncalled(), ['Server.serve', 'Other.run'])
  })

  it('the watch over roots reports an uncalled root while another root is called, and withdraws the report when the uncalled root is called', async () => {
    called = [3]
    assert.match((await until(5000)).join('|'), /^root Server\.serve has not been called yet;[^|]*$/)
    assert.deepEqual(await watch.uncalled(), ['Server.serve'])
    called = [3, 1]
    assert.deepEqual(await until(5500), [])
    assert.deepEqual(await watch.uncalled(), [])
    const before = asked
    await until(9000)
    assert.equal(asked, before)
  })

  it('the watch over roots reports the thread of a root that is already running, and lists callees as possible roots', async () => {
    frames = ['java.lang.Thread.sleep', 'app.Server.pause', 'app.Server.serve']
    const said =
      'app.Server.serve is running in thread "main" since before the attach: recording starts with its next call'
    assert.deepEqual(await until(1000), []) // the root may just have been called
    assert.deepEqual(await until(1500), [
      `${said}; methods that it calls are possible roots: app.Server.pause, app.Server.handle`,
    ])
    frames = ['java.lang.Thread.sleep', 'app.Server.serve']
    assert.match((await until(5000)).join('|'), /^app\.Server\.serve is running.*\|root Other\.run has not/)
  })

  it('the watch over roots lists possible roots below a running root that is inside the JDK', async () => {
    frames = ['java.lang.Object.wait', 'app.Server.serve']
    assert.match((await until(1500))[0], /possible roots: app\.Server\.handle, app\.Server\.pause$/)
  })

  it('the watch over roots does not report that a root has been running since before the attach if a call of the root was recorded', async () => {
    roots = [root('Server.serve', 1)]
    frames = ['app.Server.serve']
    await watch.look()
    called = [1]
    assert.deepEqual(await until(5000), [])
  })

  it('the watch over roots does not report a root whose thread waits for an answer of the client', async () => {
    roots = [root('Server.serve', 1)]
    frames = ['java.lang.JFluid1Requests.awaitReady', 'java.lang.JFluid1.countRootEntry', 'app.Server.serve']
    assert.deepEqual(await until(9000), [])
    frames = ['app.Server.serve']
    assert.match((await until(11_000))[0], /^app\.Server\.serve is running in thread/)
  })

  it('the watch over roots waits five seconds from the moment when a method of the root is found', async () => {
    roots = [root('Server.serve')]
    assert.equal(watch.armed, true)
    assert.deepEqual(await until(8000), [])
    roots = [root('Server.serve', 1)]
    assert.equal(watch.armed, false)
    assert.deepEqual(await until(13_000), [])
    assert.equal((await until(13_500)).length, 1)
  })

  it('the watch over roots reports a problem with the class of a root at once, and withdraws the report if another class matches', async () => {
    roots = [{ ...root('Server.serve'), failed: true }]
    assert.deepEqual(await until(0), ["root 'Server.serve' will not do. Try another"])
    assert.equal(watch.armed, false)
    assert.deepEqual(await watch.uncalled(), [])
    roots = [root('Server.serve', 1)]
    assert.deepEqual(await until(1000), [])
  })
})
