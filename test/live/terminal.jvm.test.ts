// The live view on a real pseudo-terminal: the screen, keys and mouse, and the final state of terminal and target.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { compileShop } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { readProfileJson } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal, type TerminalOptions } from '../support/terminal.ts'
import { filesOf, mappedFiles, threadNames, until } from './remains.ts'

const ROOT = 'shop.OrderService.process'
const ESC = '\x1b'
const DOWN = `${ESC}[B`
const LEFT = `${ESC}[D`
const RIGHT = `${ESC}[C`
/** SGR mouse reports: the button, then column and row, counted from 1. */
const WHEEL_UP = `${ESC}[<64;10;10M`
const WHEEL_DOWN = `${ESC}[<65;10;10M`
/** Such as "250 ms", "12.3 s" or "1:05". */
const DURATION = '(?:[\\d.]+ m?s|\\d+:\\d\\d)'
const click = (column: number, row: number): string => `${ESC}[<0;${column};${row}M`

/** A row of the tree or of the hot methods. */
interface Row {
  readonly total: number
  readonly self: number
  readonly calls: number
  /** Number of levels below the root; 0 for hot methods. */
  readonly depth: number
  readonly marker: string
  readonly name: string
}

const ROW = /^ *(\S+) +(\S+) +(?:~?[\d.]+|-) +(\S+) +\S+ {2}( *)([▾▸] )?(.*)$/u
const HEAD = /total +\S*self +(% root|% self) +\S*calls +\S*per call {2}\S*method$/

/** Returns the rows between the column titles and the two lines at the bottom. Returns nothing for a list of threads. */
function rowsOf(lines: readonly string[]): Row[] {
  if (!/method$/.test(lines[2] ?? '')) return []
  return lines.slice(3, -2).flatMap((line) => {
    const [, total, self, calls, indent, marker, name] = ROW.exec(line) ?? []
    if (name === undefined) return []
    // A leaf has two blanks instead of a marker.
    const depth = (indent!.length - (marker === undefined ? 2 : 0)) / 2
    return [
      {
        ...{ total: numberOf(total!), self: numberOf(self!), calls: numberOf(calls!) },
        ...{ depth: Math.max(0, depth), marker: marker?.trim() ?? '', name },
      },
    ]
  })
}

const UNITS: Readonly<Record<string, number>> = {
  ...{ k: 1e3, M: 1e6, G: 1e9 },
  ...{ ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1 },
}

/** Parses numbers such as `1,234`, `8.28M`, `~0`, `29.02µs`. */
function numberOf(text: string): number {
  const [, digits, unit] = /^~?([\d.,]+)(\D*)$/.exec(text) ?? []
  return Number.parseFloat(digits!.replaceAll(',', '')) * (UNITS[unit!] ?? 1)
}

const rootRow = (lines: readonly string[]): Row | undefined => rowsOf(lines).find((row) => row.name === ROOT)

/** Returns the values of each caller's callees in row order. Callers with only one callee are left out. */
function ofSiblings(lines: readonly string[], value: (row: Row) => number): number[][] {
  const groups: number[][] = []
  const open: number[][] = []
  for (const row of rowsOf(lines)) {
    open.length = Math.min(open.length, row.depth + 1)
    let group = open[row.depth]
    if (group === undefined) {
      group = []
      groups.push(group)
      open[row.depth] = group
    }
    group.push(value(row))
  }
  return groups.filter((group) => new Set(group).size > 1)
}

/** Returns the text `<position of the selected row> of <number of rows>` from the detail line. */
function position(lines: readonly string[]): string | undefined {
  return /(\d+ of \d+)$/.exec(lines.at(-2) ?? '')?.[1]
}

forNewestJdk((jdk) => {
  let java: JavaProcess
  let port: string
  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileShop(jdk), 'shop.Main'])
    port = /port (\d+)/.exec(await java.line(/ready/))![1]!
  })

  /** Attaches to the shop and waits until the live view shows a tree. */
  async function attached(options: TerminalOptions = {}, ...flags: string[]): Promise<Terminal> {
    const terminal = Terminal.jfluid(['attach', String(java.pid), '--root', ROOT, ...flags], options)
    // The position must be shown: until the first call, this line contains a message about a root that ran before the attach.
    await terminal.until((lines) => rowsOf(lines).length > 8 && rootRow(lines) && position(lines))
    return terminal
  }

  async function requests(): Promise<number> {
    const stats = await (await fetch(`http://localhost:${port}/stats`)).text()
    return Number(/"requests": *(\d+)/.exec(stats)![1])
  }

  /** Ends the live view and expects a correct end. */
  async function leave(terminal: Terminal): Promise<void> {
    terminal.send('q')
    expect((await terminal.exit).code).toBe(0)
  }

  // All tests share one session. Each test begins and ends with the tree sorted by total time and with its root selected.
  describe('the live view on a terminal', () => {
    let terminal: Terminal
    beforeAll(async () => {
      terminal = await attached()
    })
    afterAll(() => leave(terminal))
    afterEach(async () => {
      terminal.send('g')
      await terminal.until((lines) => position(lines)?.startsWith('1 of ') && rootRow(lines))
    })

    it('the live view on a terminal shows the growing tree of the root and the state of the session', async () => {
      // Before the recording begins, the status shows the reason for the delay.
      const recording = new RegExp(`^ jfluid +pid ${java.pid} +shop\\.Main +recording ${DURATION}$`)
      const status =
        /^ scheme B +(\d+) instrumented, +(\d+) called +[1-9][\d.]*[kM]? events\/s {2}stalled [\d.]+ %$/
      const [, instrumented, called] = await terminal.until(
        ([first, second, head]) =>
          recording.test(first!) && HEAD.test(head!) && (status.exec(second!) ?? false),
      )
      expect(Number(called)).toBeGreaterThan(0)
      expect(Number(instrumented)).toBeGreaterThanOrEqual(Number(called))

      const before = await terminal.until(rootRow)
      expect([before.depth, before.marker]).toEqual([0, '▾'])
      await terminal.until((lines) => (rootRow(lines)?.calls ?? 0) > before.calls)
      expect(Math.max(...terminal.screen().map((line) => [...line].length))).toBeLessThanOrEqual(80)
    })

    it('Down and j move the selection; Left, Right and Enter close and open rows', async () => {
      await terminal.until((lines) => position(lines)?.startsWith('1 of '))
      terminal.send(DOWN)
      await terminal.until((lines) => position(lines)?.startsWith('2 of '))
      terminal.send('j')
      await terminal.until((lines) => position(lines)?.startsWith('3 of '))
      terminal.send('kk')
      await terminal.until(() => terminal.selected()?.endsWith(`▾ ${ROOT}`))

      for (const [close, open] of [
        [LEFT, RIGHT],
        ['\r', '\r'],
      ]) {
        terminal.send(close!)
        await terminal.until((lines) => position(lines) === '1 of 1' && rootRow(lines)?.marker === '▸')
        terminal.send(open!)
        await terminal.until((lines) => rootRow(lines)?.marker === '▾' && rowsOf(lines).length > 3)
      }
    })

    it('key o sorts by the next column, a digit key by the column with this number, and O reverses the order', async () => {
      const sorted = (groups: number[][], sign: 1 | -1): boolean =>
        groups.length > 0 &&
        groups.every((group) => group.every((n, i) => i === 0 || sign * (n - group[i - 1]!) >= 0))
      await terminal.until((lines) => /▾total/.test(lines[2]!))
      terminal.send('o')
      await terminal.until(
        (lines) =>
          /▾self/.test(lines[2]!) &&
          sorted(
            ofSiblings(lines, (row) => row.self),
            -1,
          ),
      )
      terminal.send('4')
      await terminal.until(
        (lines) =>
          /▾calls/.test(lines[2]!) &&
          sorted(
            ofSiblings(lines, (row) => row.calls),
            -1,
          ),
      )
      terminal.send('O')
      await terminal.until(
        (lines) =>
          /▴calls/.test(lines[2]!) &&
          sorted(
            ofSiblings(lines, (row) => row.calls),
            1,
          ),
      )
      terminal.send('O')
      await terminal.until((lines) => /▾calls/.test(lines[2]!))
      terminal.send('1')
      await terminal.until((lines) => /▾total/.test(lines[2]!))
    })

    it('key / finds a method in closed rows, and Esc ends the search', async () => {
      terminal.send(LEFT)
      await terminal.until((lines) => position(lines) === '1 of 1')
      terminal.send('/between')
      await terminal.until((lines) => /^ \/between▏/.test(lines.at(-1)!))
      terminal.send('\r')
      // The method may not have been called yet. Key n repeats the search.
      const answered = () =>
        terminal.until(
          (lines) => /"between": \d+ found|no method here matches "between"/.exec(lines.at(-2)!)?.[0],
        )
      while (!(await answered()).endsWith('found')) {
        const calls = rootRow(terminal.screen())?.calls ?? 0
        await terminal.until((lines) => (rootRow(lines)?.calls ?? 0) > calls)
        terminal.send('n')
      }
      await terminal.until(() => /EditDistance\.between$/.test(terminal.selected() ?? ''))
      terminal.send('/nowhere\r')
      await terminal.until((lines) => /no method here matches "nowhere"/.test(lines.at(-2)!))
      terminal.send(ESC)
      await terminal.until((lines) => /EditDistance\.between\(.* of \d+$/.test(lines.at(-2)!))
    })

    it('key m lists hot methods by self time, and t returns to the tree', async () => {
      terminal.send('m')
      // All conditions are checked on the same screen, since a screen may be only half drawn.
      await terminal.until((lines) => {
        const rows = rowsOf(lines)
        const ordered = rows.every((row, i) => i === 0 || row.self <= rows[i - 1]!.self)
        const once = new Set(rows.map((row) => row.name)).size === rows.length
        const flat = rows.every((row) => row.marker === '')
        return /▾self +% self/.test(lines[2]!) && rows.length > 8 && ordered && once && flat
      })
      terminal.send('t')
      await terminal.until(
        (lines) => /▾total +self +% root/.test(lines[2]!) && rootRow(lines)?.marker === '▾',
      )
    })

    it('key T selects a thread, and its tree has fewer calls than the tree of all threads', async () => {
      const all = await terminal.until(rootRow)
      const worker = (lines: string[]) =>
        /id {2,}thread$/.test(lines[2]!) &&
        /all threads$/.test(lines[3]!) &&
        / [● ] (shop-worker-\d)$/u.exec(lines[4]!)?.[1]
      terminal.send('T')
      await terminal.until(worker) // thread names arrive twice a second, but not while the screen is frozen
      await terminal.until(
        (lines) =>
          / [▁-█]+ +all threads$/u.test(lines[3]!) &&
          /; [1-9][\d.]*[kM]? events in the last second, \d inside a root now$/.test(lines.at(-2)!),
      )
      terminal.send('T')
      await terminal.until(rootRow)
      terminal.send('p') // pauses the view; otherwise the calls of the thread could exceed the earlier number for all threads
      await terminal.until((lines) => /PAUSED/.test(lines[0]!))
      terminal.send('T')
      const name = await terminal.until(worker)
      terminal.send(`${DOWN}\r`)
      await terminal.until((lines) => lines[1]!.endsWith(`thread ${name}`))
      const one = await terminal.until(rootRow)
      expect(one.calls).toBeGreaterThan(0)
      terminal.send('Tg\r')
      const again = await terminal.until((lines) => {
        const row = lines[1]!.includes(name) ? undefined : rootRow(lines)
        return (row?.calls ?? 0) >= all.calls && row
      })
      expect(one.calls).toBeLessThan(again.calls)
      terminal.send('p')
      await terminal.until((lines) => /recording/.test(lines[0]!))
    })

    itInFull('key i shows the time of the first call of each method', async () => {
      terminal.send('i')
      await terminal.until((lines) => /code change$/.test(lines[2]!))
      terminal.send('/probes, called\r')
      await terminal.until(() => /methods with probes, called/.test(terminal.selected() ?? ''))
      terminal.send('\r')
      const when = await terminal.until((lines) =>
        lines.map((it) => /^ +[1-9][\d,]* +([\d.]+ m?s) +shop\.\w+\.\w+\(/.exec(it)?.[1]).find(Boolean),
      )
      expect(Number.parseFloat(when)).toBeGreaterThanOrEqual(0)
      terminal.send('t')
      await terminal.until((lines) => HEAD.test(lines[2]!))
    })

    it('key ? shows a list of the keys on top of the tree, and Esc closes the list', async () => {
      terminal.send('?')
      await terminal.until(
        (lines) =>
          lines.some((line) => /^ {2}q +detach and quit$/.test(line)) && rootRow(lines) === undefined,
      )
      terminal.send(ESC)
      await terminal.until((lines) => HEAD.test(lines[2]!) && rootRow(lines) !== undefined)
    })

    it('the view fills a resized terminal, and pauses while the terminal is too small', async () => {
      terminal.resize(120, 40)
      await terminal.until(
        (lines) =>
          lines.length === 40 &&
          new RegExp(` {2}JDK \\d.* recording ${DURATION}$`).test(lines[0]!) &&
          [...lines[0]!].length >= 119 &&
          /^ q quit/.test(lines[39]!) &&
          rootRow(lines) !== undefined,
      )
      terminal.resize(60, 20)
      await terminal.until((lines) => lines.some((line) => /The terminal is 60×20;/.test(line)))
      terminal.resize(80, 24)
      await terminal.until((lines) => HEAD.test(lines[2]!) && /^ q quit/.test(lines[23]!) && rootRow(lines))
    })

    it('the mouse wheel scrolls, and a click selects', async () => {
      terminal.send('*') // expands all rows, which are more than the screen has
      await terminal.until(
        (lines) => rowsOf(lines).length === 19 && Number(position(lines)?.split(' ')[2]) > 25,
      )
      terminal.send(WHEEL_DOWN)
      await terminal.until((lines) => rowsOf(lines).length === 19 && rootRow(lines) === undefined)
      terminal.send(WHEEL_UP)
      await terminal.until((lines) => rowsOf(lines)[0]?.name === ROOT)
      terminal.send(click(60, 4 + 5)) // the sixth row, since the first row is on the fourth line
      await terminal.until(
        (lines) => position(lines)?.startsWith('6 of ') && terminal.selected() === lines[8],
      )
    })

    it('key p freezes the screen while recording continues, and z resets all counts to zero', async () => {
      terminal.send('p')
      await terminal.until((lines) => /PAUSED/.test(lines[0]!))
      const frozen = await terminal.until(rootRow)
      // The service continues to call the root. Each key redraws the screen.
      const served = await requests()
      await until(async () => (await requests()) > served + 50)
      terminal.send('j')
      await terminal.until((lines) => position(lines)?.startsWith('2 of '))
      expect(rootRow(terminal.screen())).toEqual(frozen)
      terminal.send('k')
      await terminal.until((lines) => position(lines)?.startsWith('1 of '))
      expect(rootRow(terminal.screen())).toEqual(frozen)
      terminal.send('p')
      const [IN_FLIGHT, ENOUGH] = [40, 400]
      await terminal.until((lines) => {
        const calls = rootRow(lines)?.calls ?? 0
        return /recording/.test(lines[0]!) && calls > Math.max(frozen.calls, ENOUGH)
      })
      const before = await requests()
      terminal.send('z')
      // After the reset the tree contains at most as many calls as the service has received requests. 17 of 20 requests call the root, so
      // without a reset this condition would be true only after 2,400 requests.
      let asked = 0
      await until(async () => {
        const calls = rootRow(terminal.screen())?.calls
        const since = (await requests()) - before - ++asked
        expect(since, 'requests since z').toBeLessThan(2_000)
        return calls !== undefined && calls <= since + IN_FLIGHT
      })
    })
  })

  describe('the end of the live view', () => {
    it('attach refuses a terminal that is too small and leaves the target unchanged', async () => {
      const size = { columns: 60, rows: 20 }
      const terminal = Terminal.jfluid(['attach', String(java.pid), '--root', ROOT], size)
      expect((await terminal.exit).code).toBe(81)
      // The terminal wraps lines at its right edge.
      const said = terminal.scrollback().join('').replaceAll(' ', '')
      expect(said).toMatch(/80columnsand24rows;thisterminalhas60and20/)
      expect((await threadNames(java.pid)).filter((name) => /jfluid/.test(name))).toEqual([])
    })

    it('key q restores the terminal and the target and prints the report', async () => {
      const dir = temporaryDirectory()
      const terminal = await attached({
        before: `echo prompt; stty -a >${dir}/before`,
        after: `stty -a >${dir}/after`,
      })
      const clients = terminal.processes()
      expect(terminal.modes()).toMatchObject({ screen: 'alternate', mouse: 'vt200', cursorShown: false })
      await leave(terminal)
      expect(terminal.modes()).toEqual({
        ...{ screen: 'normal', mouse: 'none', cursorShown: true, applicationKeys: false },
      })
      expect(readFileSync(join(dir, 'after'), 'utf8')).toBe(readFileSync(join(dir, 'before'), 'utf8'))

      const left = terminal.scrollback()
      expect(left.filter((line) => line !== '')[0]).toBe('prompt')
      expect(left).toEqual(expect.arrayContaining(['jfluid profile of shop.Main']))
      expect(left.join('\n')).toMatch(/^Hot methods/m)
      // The terminal wraps this line at any character, and a blank at the wrap is lost.
      expect(left.join('').replaceAll(' ', '')).toMatch(
        new RegExp(
          `detachedfrom${java.pid}in\\d+ms;restored:\\d+classesverifiedasoriginal,nothingofjfluidremains`,
        ),
      )
      // The screen of the live view has been removed.
      expect(left.join('\n')).not.toMatch(/q quit|events\/s/)
      await expectLeft(clients)
    })

    it('a closed terminal ends the session, and only the profile is left behind', async () => {
      const out = join(temporaryDirectory(), 'p.jfluid')
      const terminal = await attached({}, '--out', out)
      const clients = terminal.processes()
      expect(clients.length).toBeGreaterThan(1)
      await terminal.hangUp()
      await expectLeft(clients)
      const profile = await readProfileJson(out)
      expect(profile.truncated).toBe(false)
      expect(profile.merged.map((node) => node.method)).toEqual(['process'])
    })
  })

  /** Waits until the client's processes, its files, and the agent in the target no longer exist. */
  async function expectLeft(clients: readonly number[]): Promise<void> {
    await until(() => !clients.some(isRunning))
    await until(async () => !(await threadNames(java.pid)).some((name) => /jfluid/.test(name)))
    const buffers = mappedFiles(java.pid).filter((file) =>
      clients.some((client) => new RegExp(`jfluid-\\d+-${client}-.*ring`).test(file)),
    )
    expect(buffers).toEqual([])
    expect(filesOf(java.pid, ...clients)).toEqual([`/tmp/.java_pid${java.pid}`])
    const served = await requests()
    await until(async () => (await requests()) > served)
  }
})

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
