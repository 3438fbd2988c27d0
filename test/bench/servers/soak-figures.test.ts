import { expect, it } from 'vitest'
import { flatness, heapMibOf, liveOf, metaspaceMibOf } from './soak-figures.mjs'

const look = (minute: number, more: object = {}) => ({
  ...{ minute, heapMib: 50, metaspaceMib: 80, files: 40, threads: 100 },
  ...{ clientRssMib: 100, clientFiles: 19, clientThreads: 11 },
  ...more,
})
const live = (liveMib: number, metaspaceMib: number, ours = {}) => ({ liveMib, metaspaceMib, ours })
const looks = Array.from({ length: 96 }, (_, i) => look(i + 1))

it('a soak with equal figures is flat', () => {
  const lives = [
    live(40, 70),
    live(40, 74, { 'jfluid.Boot$Loader': 1 }),
    live(40, 93, { 'jfluid.Boot$Loader': 1 }),
  ]
  expect(flatness(looks, lives).problems).toEqual([])
})

it('a soak whose figures grow is not flat', () => {
  const growing = looks.map((it) => look(it.minute, { files: 40 + it.minute, clientRssMib: 100 + it.minute }))
  const lives = [live(40, 70), live(40, 74), live(60, 95, { 'jfluid.agent.Session': 1 })]
  expect(flatness(growing, lives).problems).toEqual([
    'metaspace after a collection, MiB: from 70 to 95, more than 24',
    'live objects, MiB: from 40 to 60, more than 8',
    'files: from 77 to 125, more than 2',
    'client: resident, MiB: from 137 to 185, more than 40',
    'live objects of jfluid.agent.Session: from 0 to 1',
  ])
})

it('a soak in which a figure could not be read is not flat', () => {
  const lives = [live(40, 70), live(40, 74), live(Number.NaN, Number.NaN)]
  expect(flatness(looks, lives).problems).toEqual([
    'metaspace after a collection, MiB: a figure is missing',
    'live objects, MiB: a figure is missing',
  ])
})

it('the maximum of the metaspace is judged, also if a later collection frees it', () => {
  const freed = looks.map((it) => (it.minute === 50 ? look(50, { metaspaceMib: 103 }) : it))
  expect(flatness(freed, [live(40, 70), live(40, 74), live(40, 74)]).problems).toEqual([
    'metaspace, maximum, MiB: from 70 to 103, more than 32',
  ])
})

it('the figures are read from the output of jcmd', () => {
  const histogram = ` num     #instances         #bytes  class name (module)
   1:         12345        1048576  [B (java.base@25)
   2:             2             48  jfluid.agent.Main$$Lambda/0x00007f (jfluid)
   3:             1             48  java.lang.JFluid1$Wake (java.base@25)
Total         12348        2097152
`
  expect(liveOf(histogram)).toEqual({
    liveMib: 2,
    ours: { 'jfluid.agent.Main$$Lambda': 2, 'java.lang.JFluid1$Wake': 1 },
  })
  expect(metaspaceMibOf('Usage:\n  Non-class:  1000.00 KB used.\n       Both:  2048.00 KB used.\n')).toBe(2)
  expect(
    heapMibOf(' garbage-first heap   total reserved 524288K, committed 96256K, used 51200K [0x0\n'),
  ).toBe(50)
})
