import { beforeEach, describe, expect, it } from 'vitest'
import { width } from '../../src/tui/format.ts'
import { JvmList, type JvmRow, jvmLines } from '../../src/tui/jvm-list.ts'

const row = (pid: number, mainClass: string, change: Partial<JvmRow> = {}): JvmRow => ({
  ...{ pid, mainClass, version: '25.0.3', user: 'shop', cpu: 0.25, attachable: true },
  ...change,
})
const ROWS = [
  row(101, 'com.shop.OrderServer'),
  row(202, 'org.apache.catalina.startup.Bootstrap', { user: 'tomcat', cpu: undefined }),
  row(303, 'com.shop.Batch', { version: '17.0.15', attachable: 'belongs to uid 7' }),
]

let list: JvmList
beforeEach(() => {
  list = new JvmList()
  list.rows = ROWS
})
const pids = (): number[] => list.fitting.map((it) => it.pid)

describe('the list of JVMs', () => {
  it('the first JVM is selected at the start, and the selection does not leave the list', () => {
    expect(list.selected?.pid).toBe(101)
    list.move(1)
    expect(list.selected?.pid).toBe(202)
    list.move(9)
    expect(list.selected?.pid).toBe(303)
    list.move(-9)
    expect(list.selected?.pid).toBe(101)
  })

  it.each([
    ['boot', [202]],
    ['20', [202]],
    ['tomcat', [202]],
    ['osrv', [101]],
    ['zzz', []],
  ])('the typed text %s selects the JVMs that match the text', (typed, expected) => {
    for (const letter of typed) list.type(letter)
    expect(pids()).toEqual(expected)
    for (const _ of typed) list.erase()
    expect(pids()).toEqual([101, 202, 303])
  })

  it('several keys that arrive in one read are handled in order', () => {
    expect(list.typeAll('xx\x15shp\x7fop\r')).toBe('take')
    expect(list.typed).toBe('shop')
    expect(list.typeAll('b\b\x03no')).toBe('leave')
    expect(list.typed).toBe('shop')
    expect(list.typeAll('s')).toBe(undefined)
  })

  it('the selected JVM stays selected while other JVMs start and end; when the selected JVM ends, the first JVM is selected', () => {
    list.move(1)
    list.rows = [row(7, 'New'), ...ROWS]
    expect(list.selected?.pid).toBe(202)
    list.rows = [ROWS[0], ROWS[2]]
    expect(list.selected?.pid).toBe(101)
    list.rows = []
    expect(list.selected).toBeUndefined()
    list.move(1)
    expect(list.selected).toBeUndefined()
  })

  it('the list of JVMs shows details of each JVM, and why jfluid cannot attach to a JVM', () => {
    const { head, rows } = jvmLines(list, 90, 10)
    expect([head, ...rows.map((it) => it.text)]).toEqual([
      'PID  CPU %  JAVA     USER    MAIN CLASS',
      '101     25  25.0.3   shop    com.shop.OrderServer',
      '202         25.0.3   tomcat  org.apache.catalina.startup.Bootstrap',
      '303     25  17.0.15  shop    com.shop.Batch  (not attachable: belongs to uid 7)',
    ])
    expect(rows.map((it) => it.isAttachable)).toEqual([true, true, false])
    expect(rows.map((it) => it.isSelected)).toEqual([true, false, false])
  })

  it('a long list of JVMs shows the rows around the selection, no wider than the terminal', () => {
    list.rows = Array.from({ length: 50 }, (_, i) => row(i + 1, 'x'.repeat(200)))
    list.move(30)
    const { rows } = jvmLines(list, 60, 5)
    expect(rows.map((it) => it.text.trimStart().split(' ')[0])).toEqual(['29', '30', '31', '32', '33'])
    for (const { text } of rows) expect(width(text)).toBeLessThanOrEqual(58)
  })
})
