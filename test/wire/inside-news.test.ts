import { expect, it } from 'vitest'
import { insideNews } from '../../src/wire/inside-news.ts'

function samples(
  ...rows: readonly [
    thread: number,
    stack: number,
    state: number,
    call: number,
    ticks: bigint,
    weight: number,
    number: number,
  ][]
) {
  const bytes = new Uint8Array(36 * rows.length)
  const view = new DataView(bytes.buffer)
  for (const [i, [thread, stack, state, call, ticks, weight, number]] of rows.entries()) {
    for (const [n, value] of [thread, stack, state, call].entries())
      view.setInt32(36 * i + 4 * n, value, true)
    view.setBigInt64(36 * i + 16, ticks, true)
    view.setFloat64(36 * i + 24, weight, true)
    view.setInt32(36 * i + 32, number, true)
  }
  return bytes
}

const reply = (stacks: Uint8Array, taken: Uint8Array) => [
  ...[[['a.B', 'run', 12]], stacks, taken, 100, 2, 1, 0, 5e5, 1e6, 7, 3e6, null, 12, 99, true],
]

it('the decoded stack frames, stacks and samples equal the data that the agent wrote', () => {
  const news = insideNews(
    reply(new Uint8Array(Int32Array.from([0, 0, 1, 0]).buffer), samples([0, 2, 1, 9, 2n ** 40n, 1e7, 7])),
  )
  expect(news.batch.frames).toEqual([{ className: 'a.B', method: 'run', line: 12 }])
  expect([...news.batch.stacks]).toEqual([0, 0, 1, 0])
  expect(news.batch.samples).toEqual([
    { thread: 0, stack: 2, state: 1, call: 9, ticks: 2 ** 40, weight: 1e7, number: 7 },
  ])
  expect(news).toMatchObject({
    ticks: 100,
    taken: 2,
    missed: 1,
    dropped: 0,
    costNs: 5e5,
    safepointNs: 3e6,
    failure: null,
    rootCalls: 12,
    atTicks: 99,
    longestTaking: true,
  })
})

it.each([
  ['an incomplete stack', reply(new Uint8Array(4), samples())],
  ['an incomplete sample', reply(new Uint8Array(8), new Uint8Array(40))],
  ['a value that is not a list', null],
  ['a frame without a method', [[['a.B']], new Uint8Array(), new Uint8Array(), 1, 1, 1, 1, 1, 1, 1, 1, null]],
])('an answer with invalid data is refused: %s', (_, answer) => {
  expect(() => insideNews(answer)).toThrow()
})
