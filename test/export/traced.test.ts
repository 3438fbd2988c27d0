// Traced calls in the formats that have a time axis.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import { describe, it } from 'vitest'
import { callOf } from '../profile/traced.ts'
import { Methods, profileOfTree, treeOf } from '../profile/trees.ts'
import { exported, traced } from './exported.ts'

const schema = JSON.parse(
  readFileSync(
    createRequire(import.meta.url).resolve('speedscope/dist/release/file-format-schema.json'),
    'utf8',
  ),
) as object
const isValid = new Ajv({ strict: false }).compile(schema)

describe('traced calls in speedscope and trace event files', () => {
  it('traced calls are exported as speedscope profiles of type "evented", and the file is valid by the speedscope schema', async () => {
    const file: unknown = JSON.parse(await exported(traced(), 'speedscope'))
    assert.ok(isValid(file), JSON.stringify(isValid.errors))
    const { shared, profiles } = file as {
      shared: { frames: { name: string }[] }
      profiles: {
        type: string
        name: string
        endValue: number
        events: { type: string; frame: number; at: number }[]
      }[]
    }
    const nameOf = (frame: number) => shared.frames[frame]!.name.replace('com.acme.App.', '')
    assert.deepEqual(
      profiles.slice(1).map((it) => {
        const events = it.events.map(({ type, frame, at }) => `${type} ${nameOf(frame)} ${at}`)
        return `${it.type} ${it.name}, to ${it.endValue}: ${events.join(', ')}`
      }),
      [
        'evented call 1 in t1, to 22: O main 0, O get 5, C get 20, C main 22',
        'evented call 1, task 1 in t2, to 19: O run 6, C run 19',
        'evented call 2 in t1, to 9: O main 0, O main 2, C main 4, C main 9',
      ],
    )
    assert.equal(profiles[0]!.type, 'sampled')
  })

  it('in an export of traced calls with many events, the innermost frame is always closed first', async () => {
    const methods = new Methods()
    const loop = Array.from(
      { length: 2000 },
      (_, i) => `a> ${2 * i} b> ${2 * i} b< ${2 * i + 1} a< ${2 * i + 1}`,
    )
    const call = callOf(`main> 0 ${loop.join(' ')} main< 4000`, methods)
    const profile = profileOfTree(treeOf('main 1x 1ns', methods), methods.names, {
      trace: { asked: 1, calls: [call] },
    })
    const file = JSON.parse(await exported(profile, 'speedscope')) as {
      profiles: { events: { type: string; frame: number; at: number }[] }[]
    }
    const open: number[] = []
    for (const { type, frame } of file.profiles[1]!.events) {
      if (type === 'O') open.push(frame)
      else assert.equal(open.pop(), frame)
    }
    assert.deepEqual(open, [])
    assert.equal(file.profiles[1]!.events.length, 8002)
  })

  it('traced calls are exported as trace events with times in microseconds since the start, a begin and an end per call, and an arrow per task', async () => {
    const { traceEvents } = JSON.parse(await exported(traced(), 'trace-events')) as {
      traceEvents: {
        ph: string
        name: string
        tid: number
        ts?: number
        id?: number
        args?: { name: string }
      }[]
    }
    const lines = traceEvents.map(({ ph, name, tid, ts, id, args }) =>
      [ph, name.replace('com.acme.App.', ''), `t${tid}`, ts, id, args?.name]
        .filter((it) => it !== undefined)
        .join(' '),
    )
    assert.deepEqual(lines.slice(1, 3), ['M thread_name t1 t1', 'M thread_name t2 t2'])
    assert.deepEqual(lines.slice(3), [
      'B main t1 1',
      's handed over t1 1.005 1',
      'B get t1 1.005',
      'E get t1 1.02',
      'E main t1 1.022',
      'B run t2 1.006',
      'f handed over t2 1.006 1',
      'E run t2 1.019',
      'B main t1 5',
      'B main t1 5.002',
      'E main t1 5.004',
      'E main t1 5.009',
    ])
  })

  it('times in the trace events of one thread never decrease, for any order of calls', async () => {
    const methods = new Methods()
    // The second call's task begins before the first call's task, in the same thread; the third call's task begins before the first task
    // has ended.
    const calls = [
      callOf('main> 0 hand 1 1 main< 2 | run> 100 run< 200', methods, 0),
      callOf('main> 0 hand 1 1 main< 2 | run> 20 run< 60', methods, 10),
      callOf('main> 0 hand 1 1 main< 2 | run> 160 run< 170', methods, 20),
    ]
    const profile = profileOfTree(treeOf('main 1x 1ns', methods), methods.names, {
      trace: { asked: 3, calls },
    })
    const { traceEvents } = JSON.parse(await exported(profile, 'trace-events')) as {
      traceEvents: { ph: string; tid: number; ts: number }[]
    }
    const runs = traceEvents
      .filter(({ ph, tid }) => tid === 2 && 'BE'.includes(ph))
      .map(({ ph, ts }) => `${ph} ${ts}`)
    assert.deepEqual(runs, ['B 0.03', 'E 0.07', 'B 0.1', 'E 0.2', 'B 0.2', 'E 0.2'])
  })
})
