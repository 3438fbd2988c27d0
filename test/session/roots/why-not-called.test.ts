import { describe, expect, it } from 'vitest'
import { describeRootOnStack, rootsOnStacks } from '../../../src/session/roots/why-not-called.ts'

const stack = (name: string, ...frames: string[]) => ({
  id: 1,
  name,
  frames: frames.map((f) => {
    const dot = f.lastIndexOf('.')
    return { class: f.slice(0, dot), method: f.slice(dot + 1) }
  }),
})

describe('roots that run during the attach', () => {
  const isJdk = (name: string) => name.startsWith('java.')

  it('roots that run during the attach are found with their thread and callees that are possible roots', () => {
    const stacks = [
      stack('idle', 'java.lang.Object.wait', 'app.Pool.take'),
      stack(
        'worker',
        'java.lang.Thread.sleep',
        'app.Disk.read',
        'app.Server.handle',
        'app.Server.serve',
        'app.Main.main',
      ),
    ]
    const found = rootsOnStacks(stacks, [{ class: 'app.Server', method: 'serve' }], isJdk)
    expect(found).toEqual([
      {
        root: 'app.Server.serve',
        thread: 'worker',
        callees: ['app.Server.handle', 'app.Disk.read'],
        isAsking: false,
      },
    ])
    expect(describeRootOnStack(found)).toBe(
      'app.Server.serve is running in thread "worker" since before the attach: recording starts with its next call; ' +
        'methods that it calls are possible roots: app.Server.handle, app.Disk.read',
    )
  })

  it('roots are not reported as running during the attach if no stack contains a root', () => {
    expect(
      rootsOnStacks([stack('t', 'app.Main.main')], [{ class: 'app.Main', method: 'run' }], isJdk),
    ).toEqual([])
  })
})
