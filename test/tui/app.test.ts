import assert from 'node:assert/strict'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { LiveView, runLiveView } from '../../src/tui/app.ts'
import { TIMED } from '../profile/root-calls.ts'
import { chain, Methods, treeOf } from '../profile/trees.ts'
import { FakeScreen, FakeSource } from './fake-screen.ts'

const ORDERS = `OrderService.process 120x 9000000ns (
  OrderService.validate 120x 2500000ns (
    com.acme.shop.validation.RuleEngine.check 480x 4100000ns (
      com.acme.shop.validation.rules.CreditLimitRule.applies 120x 900000ns
      com.acme.shop.validation.rules.StockRule.applies 120x 700000ns ) )
  com.acme.shop.pricing.PriceCalculator.priceOf 360x 140000000ns ( Cache.get 1234567x 36000000ns )
  com.acme.db.JdbcOrderRepository.save 120x 81000000ns ( com.acme.db.ConnectionPool.borrow 120x 2000000ns )
  Log.debug 4000x -3000ns )`

let methods: Methods
let source: FakeSource
let screen: FakeScreen
let view: LiveView

async function open(columns = 80, rows = 24, notation = ORDERS, unicode = true): Promise<void> {
  methods = new Methods()
  source = new FakeSource(methods, treeOf(notation, methods))
  screen = new FakeScreen(columns, rows, unicode)
  view = new LiveView(source, screen)
  await view.refresh()
}

/** Returns the names of the rows on the screen, the selected row in brackets. */
function rows(): string[] {
  const selected = screen.styled('selected')
  return screen.text
    .split('\n')
    .slice(3, -2)
    .filter((line) => line !== '')
    .map((line) => (line.trim() === selected ? `[${nameIn(line)}]` : nameIn(line)))
}

function nameIn(line: string): string {
  return line.trimEnd().split('.').at(-1)!
}

beforeEach(() => open())

describe('the live view', () => {
  it('the live view fits a terminal of 80x24', () => {
    assert.equal(
      screen.text,
      ` jfluid  pid 4711  com.acme.demo.OrderServer                   recording 12.3 s
 scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled 0.3 %
   ▾total     self  % root    calls per call  method
  276.2ms  9.000ms   100.0      120  2.302ms  ▾ com.acme.OrderService.process
  176.0ms  140.0ms    63.7      360  488.9µs    ▾ PriceCalculator.priceOf
  36.00ms  36.00ms    13.0    1.23M     29ns        com.acme.Cache.get
  83.00ms  81.00ms    30.1      120  691.7µs    ▸ c.a.d.JdbcOrderRepository.save
  8.200ms  2.500ms     3.0      120  68.33µs    ▸ com.acme.OrderService.validate
     ~0       ~0        ~0    4,000     ~0        com.acme.Log.debug













 com.acme.OrderService.process(int)                                      1 of 6
 q quit  ? help  Enter open  / find  m hot  t tree  c callers  f flame  o sort`,
    )
  })

  it('if all rows are open, the live view fits a terminal of 120x40', async () => {
    await open(120, 40)
    source.facts = { warnings: ['The first redefinition throws away compiled code.'] }
    screen.press('* end')
    assert.equal(
      screen.text,
      ` jfluid  pid 4711  com.acme.demo.OrderServer  JDK 17.0.15                                1 warning: w  recording 12.3 s
 scheme B  1,312 instrumented, 240 called  1.23M events/s  stalled by probes 0.3 %                          all threads
      ▾total        self  % root         calls   per call  method
     276.2ms     9.000ms   100.0           120    2.302ms  ▾ com.acme.OrderService.process
     176.0ms     140.0ms    63.7           360    488.9µs    ▾ com.acme.shop.pricing.PriceCalculator.priceOf
     36.00ms     36.00ms    13.0     1,234,567       29ns        com.acme.Cache.get
     83.00ms     81.00ms    30.1           120    691.7µs    ▾ com.acme.db.JdbcOrderRepository.save
     2.000ms     2.000ms     0.7           120    16.67µs        com.acme.db.ConnectionPool.borrow
     8.200ms     2.500ms     3.0           120    68.33µs    ▾ com.acme.OrderService.validate
     5.700ms     4.100ms     2.1           480    11.88µs      ▾ com.acme.shop.validation.RuleEngine.check
     900.0µs     900.0µs     0.3           120    7.500µs          c.a.s.v.r.CreditLimitRule.applies
     700.0µs     700.0µs     0.3           120    5.833µs          com.acme.shop.validation.rules.StockRule.applies
        ~0          ~0        ~0         4,000       ~0        com.acme.Log.debug

























 com.acme.Log.debug(int)                                                                                       10 of 10
 q quit  ? help  Enter open  / find  m hot  t tree  c callers  f flame  o sort  T threads  p pause  z zero  s save`,
    )
  })

  it('the key m shows hot methods', () => {
    screen.press('m')
    assert.equal(
      screen.text.split('\n').slice(2, 13).join('\n'),
      `    total    ▾self  % self    calls per call  method
  176.0ms  140.0ms    50.7      360  488.9µs  c.a.s.p.PriceCalculator.priceOf
  83.00ms  81.00ms    29.3      120  691.7µs  c.a.d.JdbcOrderRepository.save
  36.00ms  36.00ms    13.0    1.23M     29ns  com.acme.Cache.get
  276.2ms  9.000ms     3.3      120  2.302ms  com.acme.OrderService.process
  5.700ms  4.100ms     1.5      480  11.88µs  c.a.s.v.RuleEngine.check
  8.200ms  2.500ms     0.9      120  68.33µs  com.acme.OrderService.validate
  2.000ms  2.000ms     0.7      120  16.67µs  com.acme.db.ConnectionPool.borrow
  900.0µs  900.0µs     0.3      120  7.500µs  c.a.s.v.r.CreditLimitRule.applies
  700.0µs  700.0µs     0.3      120  5.833µs  c.a.s.v.r.StockRule.applies
     ~0       ~0        ~0    4,000     ~0    com.acme.Log.debug`,
    )
  })

  it('no view writes outside the screen, at any screen size and with any method name', async () => {
    const names = `${'VeryLongNameOfAClass'.repeat(8)}.${'method'.repeat(20)} 1x 5ns ( 数学.計算する 999999999999x 1000000000000000ns )`
    for (const [columns, height] of [
      [80, 24],
      [100, 30],
      [120, 40],
      [200, 50],
      [20, 3],
    ] as const) {
      await open(columns, height, names)
      source.facts = { mainClass: 'x'.repeat(300), message: 'y'.repeat(300), warnings: ['z '.repeat(300)] }
      for (const key of ['*', 'm', '?', 'T', 'w', '/']) {
        screen.press(key)
        assert.ok(screen.widest <= columns, `${columns}x${height} ${key}: ${screen.widest}\n${screen.text}`)
        assert.ok(screen.lines.length <= height)
      }
    }
  })

  it('the live view uses only ASCII if the terminal has no UTF-8', async () => {
    await open(80, 24, ORDERS, false)
    for (const key of ['*', '?', 'escape', 'm', '/']) {
      screen.press(key)
      assert.match(screen.text, /^[\n -~]*$/)
    }
  })

  it('an escape sequence in a method name is not written to the terminal', async () => {
    await open(80, 24, 'a 1x 1ns')
    const evil = '\x1b[2J\x07\u202e\n\x9b2J\u2066\u200f'
    methods.names[1] = { class: evil, method: evil, descriptor: evil, loader: evil }
    source.threads = [{ id: 1, name: evil, tree: source.tree }]
    source.facts = { mainClass: evil, jdk: evil, message: evil, warnings: [evil], roots: [evil] }
    await view.refresh()
    for (const key of ['m', 'T', 'escape', 'w', 'escape', 't']) {
      screen.press(key)
      for (const line of screen.lines)
        for (const run of line) assert.doesNotMatch(run.text, /[\x00-\x1f\x7f-\x9f\u200f\u202e\u2066]/)
    }
    source.tree = treeOf('', methods)
    source.facts = { ...source.facts, phase: 'waiting for root' }
    await view.refresh()
    for (const line of screen.lines)
      for (const run of line) assert.doesNotMatch(run.text, /[\x00-\x1f\x7f-\x9f\u200f\u202e\u2066]/)
  })
})

describe('rows of the live view', () => {
  it('rows along the hottest path are open until the user opens or closes a row', async () => {
    assert.deepEqual(rows(), ['[process]', 'priceOf', 'get', 'save', 'validate', 'debug'])
    screen.press('down left')
    assert.deepEqual(rows(), ['process', '[priceOf]', 'save', 'validate', 'debug'])
    await view.refresh()
    assert.deepEqual(rows(), ['process', '[priceOf]', 'save', 'validate', 'debug'])
  })

  it('Enter, space and the left and right arrows open and close rows; the up and down arrows move the selection', () => {
    screen.press('down left enter')
    assert.deepEqual(rows()[2], 'get')
    screen.press('space')
    assert.deepEqual(rows()[2], 'save')
    screen.press('l l')
    assert.deepEqual(rows()[2], '[get]')
    screen.press('h h')
    assert.deepEqual(rows()[1], '[priceOf]')
    screen.press('h k k k')
    assert.deepEqual(rows()[0], '[process]')
  })

  it('the selected node stays selected when the order of rows changes', async () => {
    screen.press('down down down')
    assert.equal(rows()[3], '[save]')
    source.tree = treeOf(ORDERS.replace('save 120x', 'save 999x').replace('81000000', '981000000'), methods)
    await view.refresh()
    // save is now hotter than priceOf, so the hottest path goes through save and opens it
    assert.deepEqual(rows(), ['process', '[save]', 'borrow', 'priceOf', 'get', 'validate', 'debug'])
    source.tree = treeOf('other 1x 1ns', methods)
    await view.refresh()
    assert.deepEqual(rows(), ['[other]'])
  })

  it('keys and the mouse wheel scroll the rows, and the selected row stays visible', async () => {
    const calls = Array.from({ length: 100 }, (_, i) => `m${i} 1x ${1000 - i}ns`).join(' ')
    await open(80, 24, `main 1x 1ns ( ${calls} )`)
    screen.press('pagedown')
    assert.equal(rows()[0], '[m17]')
    screen.press('end')
    assert.equal(rows().at(-1), '[m99]')
    screen.mouse('wheel-up', 0, 10)
    assert.equal(rows().at(-1), '[m96]')
    screen.press('home')
    assert.equal(rows()[0], '[main]')
    screen.mouse('wheel-down', 0, 10)
    assert.equal(rows()[0], '[m2]')
  })

  it('a click selects a row; a second click, or a click on the marker, opens the row; a click on a column head sorts', () => {
    screen.mouse('click', 60, 7) // the fifth row: validate
    assert.equal(rows()[4], '[validate]')
    screen.mouse('click', 60, 7)
    assert.equal(rows()[5], 'check')
    screen.mouse('click', 48, 4) // the marker of priceOf, one level deep
    assert.deepEqual(rows().slice(0, 3), ['process', '[priceOf]', 'save'])
    screen.mouse('click', 30, 2)
    assert.equal(screen.styled('sorted'), '▾calls')
    screen.mouse('click', 70, 2)
    assert.equal(screen.styled('sorted'), '▾method')
    screen.mouse('click', 70, 2)
    assert.equal(screen.styled('sorted'), '▴method')
    screen.mouse('click', 5, 22) // below the rows
  })

  it('keys sort the rows by the next column, by the column with a typed number, or in reverse order', () => {
    screen.press('o')
    assert.equal(screen.styled('sorted'), '▾self')
    screen.press('O')
    assert.equal(screen.styled('sorted'), '▴self')
    screen.press('4')
    assert.equal(screen.styled('sorted'), '▾calls')
    assert.deepEqual(rows().slice(0, 3), ['[process]', 'debug', 'priceOf'])
    screen.press('4')
    assert.equal(screen.styled('sorted'), '▴calls')
  })

  it('rows of a recursion 100,000 deep open without delay', async () => {
    await open()
    source.tree = chain(100_000)
    await view.refresh()
    screen.press('* end')
    assert.match(screen.text, /\[99999\] {3}OrderServ…e\.process/)
    assert.match(screen.text, /100,000 of 100,000/)
  })
})

describe('search in the live view', () => {
  it('a search also finds rows below closed rows, and the keys n and N go to the next and previous match', () => {
    screen.press('/ a p p l')
    assert.match(screen.text, /\n \/appl▏ {3}Enter: find/)
    screen.press('enter')
    assert.equal(rows()[6], '[applies]')
    assert.match(screen.text, /"appl": 2 found/)
    screen.press('n')
    assert.equal(rows()[7], '[applies]')
    screen.press('n')
    assert.equal(rows()[6], '[applies]')
    screen.press('N')
    assert.equal(rows()[7], '[applies]')
    assert.match(screen.styled('match'), /CreditLimitRule/)
    screen.press('escape')
    assert.doesNotMatch(screen.styled('match'), /CreditLimitRule/)
  })

  it('a search text can be edited and cancelled; a search without a match shows a message', () => {
    screen.press('/ x y backspace backspace backspace')
    assert.doesNotMatch(screen.text, /Enter: find/)
    screen.press('/ q escape')
    assert.match(screen.text, /recording/)
    screen.press('n')
    assert.match(screen.text, /no search yet/)
    screen.press('/ z z z enter')
    assert.match(screen.text, /no method here matches "zzz"/)
  })

  it('the end of a long search text is visible', () => {
    screen.press(`/ ${'VeryLongNameOfAClassThatIsPasted'.repeat(3).split('').join(' ')} . e n d`)
    assert.match(screen.text, /\n \/…\S+Pasted\.end▏ {3}Enter: find/)
    assert.ok(screen.widest <= 80)
  })

  it('a search also finds hot methods, and Enter shows the found method in the tree', () => {
    screen.press('m / S t o c k enter')
    assert.match(screen.styled('selected'), /StockRule\.applies/)
    screen.press('enter')
    assert.equal(rows()[7], '[applies]')
    assert.match(screen.text, /% root/)
  })
})

describe('the live view after the end of the session', () => {
  it('after the end of the session, a key that would change the recording shows a hint', async () => {
    source.more = TIMED
    Object.assign(source, { steering: undefined })
    await view.refresh()
    source.end('the JVM ended')
    await view.refresh()
    const told = (key: string): string => {
      screen.press(key)
      return screen.text.split('\n').at(-2)!
    }
    assert.equal(told('r'), ' root: com.acme.OrderService.process; Esc shows all rows')
    assert.equal(told('x'), ' the session has ended: no method can be excluded')
    assert.equal(told('F'), ' the session has ended: no more calls are recorded')
    assert.equal(told('z'), ' the session has ended: counts are kept')
  })
})

describe('the help page that lists the keys', () => {
  it('the help page has two columns if the terminal is wide enough, otherwise one column', async () => {
    await open(200, 50)
    screen.press('?')
    const starts = screen.text
      .split('\n')
      .filter((line) => /^ {2}\S/.test(line))
      .map((line) => /^.{60,}? {2}(?=(?:\S+|\S+ \S) {2,}\S)/.exec(line)?.[0].length ?? 0)
    assert.ok(starts.filter((it) => it > 60).length > 15, `${starts}`)
    assert.equal(new Set(starts.filter((it) => it > 60)).size, 1, `${starts}`)
    await open(120, 40)
    screen.press('?')
    assert.ok(screen.widest <= 120)
  })
})

describe('views in which rows cannot be hidden', () => {
  it('a key that hides rows shows a hint, and all rows stay visible', () => {
    for (const key of ['T', 'L']) {
      screen.press(`${key} %`)
      assert.match(screen.text, /\n this view has no row filter; % works in trees/)
      assert.equal(view.model.filter.least, 0)
    }
    screen.press('T / z z z enter')
    assert.match(screen.text, /no thread here matches "zzz"/)
  })
})

describe('threads in the live view', () => {
  beforeEach(async () => {
    source.threads = [
      { id: 31, name: 'http-1', tree: treeOf('OrderService.process 1x 5ns', methods) },
      {
        id: 32,
        name: 'http-2 🚀',
        tree: treeOf('OrderService.process 1x 7000000ns ( Log.debug 1x 1ns )', methods),
      },
    ]
    await view.refresh()
  })

  it('trees of single threads are requested while threads are listed, while one thread is shown, and when the view is frozen', async () => {
    const asked = async (keys: string): Promise<number> => {
      if (keys !== '') screen.press(keys)
      await view.refresh()
      await turnOfTheLoop()
      return view.model.snapshot.threads.length
    }
    assert.equal(await asked(''), 0)
    assert.equal(await asked('T'), 2)
    assert.equal(await asked('escape'), 0)
    await asked('T')
    assert.equal(await asked('j enter'), 2)
    assert.equal(await asked('T k enter'), 0)
    assert.equal(await asked('p'), 2)
    screen.press('T j enter')
    assert.match(screen.text, /thread http-2/)
  })

  it('keys select the next and previous thread', async () => {
    screen.press('T')
    await view.refresh()
    screen.press('/ h t t p enter')
    assert.match(screen.styled('selected'), /http-2/)
    screen.press('n')
    assert.match(screen.styled('selected'), /http-1/)
    screen.press('N')
    assert.match(screen.styled('selected'), /http-2/)
    screen.press('k N')
    assert.match(screen.styled('selected'), /http-1/)
  })

  it('the user chooses a thread from a list, and the tree of the thread is shown', async () => {
    screen.press('T')
    await view.refresh()
    assert.equal(
      screen.text.split('\n').slice(2, 6).join('\n'),
      `      ▾total   % all       calls                     id  thread
     276.2ms   100.0   1,240,127  ▇▇▇▇▇▇▇▇▇▇             all threads
     7.000ms     2.5           2                     32  http-2 ?
         5ns     0.0           1                     31  http-1`,
    )
    const names = () =>
      rows()
        .slice(1)
        .map((row) => row.replace(/^.* (?=http)/, '').replace(']', ''))
    screen.press('O')
    assert.deepEqual(names(), ['http-1', 'http-2 ?'])
    screen.press('6')
    assert.deepEqual(names(), ['http-1', 'http-2 ?'])
    screen.press('4')
    assert.deepEqual(names(), ['http-2 ?', 'http-1'])
    screen.press('/ h t t p - 1 enter')
    assert.match(screen.styled('selected'), /http-1/)
    // Esc ends the search, then quits.
    screen.press('escape escape')
    assert.match(screen.text, /% root/)
    screen.press('T k k')
    screen.press('j enter')
    assert.match(screen.text, /1,312\/240 methods .*thread http-2 \?/)
    assert.match(screen.text, / 7\.000ms {2}7\.000ms {3}100\.0 /)
    source.threads = source.threads.slice(0, 1)
    await view.refresh()
    assert.match(screen.text, /thread 32, ended/)
    assert.match(screen.text, /Press T to choose another/)
    screen.press('T k enter')
    assert.match(screen.text, /276\.2ms/)
  })
})

describe('pages of help and warnings', () => {
  it('the help page lists every key and can be scrolled', () => {
    screen.press('?')
    assert.match(screen.text, / {2}q {8}detach and quit\n/)
    assert.match(screen.text, /lines 1 to 19 of \d+/)
    screen.press('end')
    assert.match(screen.text, / {2}Ctrl-Z {3}suspend jfluid to the shell/)
    screen.press('q')
    assert.match(screen.text, /% root/)
  })

  it('the warnings page shows the complete text of each warning', () => {
    source.facts = { warnings: ['one '.repeat(30).trim(), 'two'] }
    screen.press('w')
    assert.match(screen.text, /2 warnings: w/)
    assert.match(screen.text, /one\n\n {2}two\n/)
  })
})

describe('the live view before the first snapshot', () => {
  it('before the first snapshot, the view shows what the session waits for, and a hint that the session provides', async () => {
    await open(80, 24, '')
    source.facts = {
      phase: 'waiting for root',
      message: 'not called for 5 s; it is on the stack of thread "main"',
    }
    await view.refresh()
    assert.equal(
      screen.text.split('\n').slice(3, 9).join('\n'),
      `
  Waiting for the first call of the root

  com.acme.OrderService.process

  not called for 5 s; it is on the stack of thread "main"`,
    )
    screen.press('down up * enter m left right end n')
  })
})

describe('control of the session by the live view', () => {
  it('the last tree stays visible after the end of a session, with the reason', async () => {
    source.tree = treeOf('OrderService.process 9x 1ns', methods)
    source.end('the target has exited')
    await new Promise((resolve) => setImmediate(resolve))
    assert.match(screen.text, / {2}ended 12\.3 s/)
    assert.match(screen.text, /the target has exited: press q to quit and see the report/)
    assert.deepEqual(rows(), ['[process]'])
    const asked = source.snapshots
    await view.refresh()
    assert.equal(source.snapshots, asked)
    screen.press('z')
    assert.equal(source.resets, 0)
    assert.match(screen.text, /the session has ended: counts are kept/)
    assert.deepEqual(rows(), ['[process]'])
  })

  it('the previous snapshot is shown until a new snapshot arrives', async () => {
    source.failure = new Error('the link is closed')
    await view.refresh()
    assert.match(screen.text, /the link is closed/)
    assert.equal(rows().length, 6)
  })

  it('keys pause and reset the session, and Ctrl-Z stops the program', async () => {
    screen.press('p')
    await turnOfTheLoop()
    const asked = source.snapshots
    await view.refresh()
    assert.equal(source.snapshots, asked)
    assert.match(screen.text, /PAUSED/)
    screen.press('p z')
    await view.refresh()
    assert.equal(source.snapshots, asked + 1)
    screen.press('z C-z')
    assert.deepEqual([source.resets, screen.suspended], [2, 1])
  })
})

describe('a terminal smaller than 80x24', () => {
  it('a message is shown on a small terminal, and the view is shown again when the terminal is enlarged', async () => {
    screen.resize(60, 10)
    assert.equal(
      screen.text.trim(),
      'The terminal is 60×10;\n                    jfluid needs 80×24.\n                  Enlarge it, or press q.',
    )
    screen.press('down')
    screen.resize(80, 24)
    assert.equal(rows()[0], '[process]')
  })
})

describe('update rate of the live view', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** Begins and ends of the snapshots in the first two seconds, if each snapshot takes this time. */
  async function turns(ms: number): Promise<{ begin: number; end: number }[]> {
    const from = performance.now()
    const taken: { begin: number; end: number }[] = []
    const answer = source.snapshot.bind(source)
    source.snapshot = async () => {
      const begin = performance.now() - from
      await new Promise((resolve) => setTimeout(resolve, ms))
      taken.push({ begin, end: performance.now() - from })
      return answer(false)
    }
    const left = runLiveView(source, screen)
    await vi.advanceTimersByTimeAsync(2000)
    screen.press('q')
    await left
    return taken
  }

  it.each([0, 10, 60])('the live view updates eight times a second if a snapshot takes %i ms', async (ms) => {
    const begins = (await turns(ms)).map(({ begin }) => Math.round(begin))
    assert.deepEqual(
      begins.slice(0, 15),
      Array.from({ length: 15 }, (_, turn) => turn * 125),
    )
  })

  it.each([90, 400])(
    'if a snapshot takes %i ms, the live view spends half of its time on snapshots, and never takes two at once',
    async (ms) => {
      const taken = await turns(ms)
      assert.ok(taken.length >= 2)
      for (const [i, { begin, end }] of taken.entries()) {
        assert.equal(Math.round(end - begin), ms)
        assert.equal(Math.round(begin), i * 2 * ms)
      }
    },
  )
})

describe('the end of the live view', () => {
  it('q, Ctrl-C or a signal ends the view; nothing is drawn or requested afterwards', async () => {
    for (const [leave, how] of [
      [() => screen.press('q'), 'quit'],
      [() => screen.press('/ a C-c'), 'quit'],
      [() => screen.press('? C-c'), 'quit'],
      [() => screen.signal('SIGTERM'), 'SIGTERM'],
    ] as const) {
      source = new FakeSource(methods, treeOf(ORDERS, methods))
      screen = new FakeScreen(80, 24)
      const left = runLiveView(source, screen)
      leave()
      assert.equal(await left, how)
      screen.lines = []
      const asked = source.snapshots
      screen.press('down')
      source.end('later')
      await new Promise((resolve) => setImmediate(resolve)) // after all pending promise callbacks
      assert.deepEqual([screen.lines, source.snapshots], [[], asked])
    }
  })
})
