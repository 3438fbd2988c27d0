// A synthetic program, as seen by the client: threads that serve requests, with deep contexts in some places and wide contexts in others,
// branches that are not always taken, and loops around the last call.
//
// Each thread has its own tree of contexts. The shape of the tree is a random walk: one level down, or some levels up and one down, or up
// to the top. A call site is always reached, or every second time, or every tenth time. Loops surround one site in ten, and every second
// call of a leaf. A request begins at one of the thread's entry points, most often at the first. All random numbers come from one seed.

export const CHUNK_EVENTS = 4094
const TICKS_PER_EVENT = 37
const ENTER = 1
const EXIT = 2
const DEEPEST = 80
/** How often a call site of each class is reached, of 256 times. */
const REACHED = [256, 128, 26]
const CLASSES = REACHED.length

let seed = 20031
const random = (below) => {
  seed ^= seed << 13
  seed ^= seed >>> 17
  seed ^= seed << 5
  return (seed >>> 0) % below
}

/** Contexts of one thread in preorder. The thread's requests begin in context 0. */
class Contexts {
  constructor(count, methods) {
    this.count = count
    this.method = new Int32Array(count)
    this.size = new Int32Array(count)
    /** Class of the context's call site: an index of REACHED. */
    this.rare = new Uint8Array(count)
    /** Number of calls each time the site is reached; 0 for a random number from one to seven. */
    this.times = new Uint8Array(count)
    this.entries = []
    const path = [0]
    const called = [new Set()]
    this.method[0] = 1
    this.times[0] = 1
    const leave = (until) => {
      while (path.length > until) {
        const done = path.pop()
        this.size[done] = (this.end ?? count) - done
        called.pop()
      }
    }
    for (let node = 1; node < count; node++) {
      this.end = node
      const anew = random(65536) < 65536 / Math.sqrt(count)
      const down = random(16) < 10 && path.length < DEEPEST
      leave(anew ? 1 : Math.max(1, down ? path.length : path.length - 1 - random(4)))
      const siblings = called.at(-1)
      let method = 1 + random(methods)
      while (siblings.has(method)) method = (method % methods) + 1
      siblings.add(method)
      this.method[node] = method
      const chance = random(20)
      this.rare[node] = chance < 16 ? 0 : chance < 19 ? 1 : 2
      this.times[node] = 1
      if (path.length === 1) this.entries.push(node)
      path.push(node)
      called.push(new Set())
    }
    this.end = count
    leave(0)
    for (let node = 1; node < count; node++) {
      const loop = random(10)
      if (this.size[node] === 1 && loop < 5) this.times[node] = loop < 1 ? 0 : 1 + loop
      else if (loop < 1) this.times[node] = 2
    }
  }
}

/** Events of one thread. */
class Thread {
  constructor(contexts) {
    this.contexts = contexts
    this.ticks = 0
    this.stack = new Int32Array(DEEPEST + 2)
    this.next = new Int32Array(DEEPEST + 2)
    this.left = new Int32Array(DEEPEST + 2)
    this.depth = 0
    this.touched = new Uint8Array(contexts.count)
  }

  /** Fills `words` with events. */
  run(words) {
    const { contexts, stack, next, left } = this
    const { size, rare, times } = contexts
    for (let at = 0; at < words.length; at += 2) {
      if (this.depth === 0) {
        this.#enter(words, at, 0)
        // A request calls one entry point, and nothing else of context 0.
        const { entries } = contexts
        const chance = random(65536) / 65536
        const entry = entries[Math.floor(chance * chance * entries.length)]
        next[0] = entry
        continue
      }
      const top = this.depth - 1
      const node = stack[top]
      const end = node + size[node]
      let child = next[top]
      while (child < end && random(256) >= REACHED[rare[child]]) child += size[child]
      if (child < end && left[top] === 0) left[top] = times[child] === 0 ? 1 + random(7) : times[child]
      if (child >= end) {
        this.#exit(words, at)
        continue
      }
      left[top]--
      if (left[top] === 0) next[top] = top === 0 ? contexts.count : child + size[child]
      else next[top] = child
      this.#enter(words, at, child)
    }
  }

  /** Enters every context once, the rare contexts later, in the order in which a program would. Returns words. */
  discover() {
    const { contexts, stack, next } = this
    const { size, rare } = contexts
    const words = new Uint32Array(contexts.count * CLASSES * 4)
    let at = 0
    for (let pass = 0; pass < CLASSES; pass++) {
      this.#enter(words, at, 0)
      at += 2
      while (this.depth > 0) {
        const top = this.depth - 1
        const node = stack[top]
        const end = node + size[node]
        let child = next[top]
        while (child < end && rare[child] > pass) child += size[child]
        if (child < end) {
          next[top] = child + size[child]
          this.#enter(words, at, child)
        } else this.#exit(words, at)
        at += 2
      }
    }
    this.touched.fill(0)
    return words.subarray(0, at)
  }

  #enter(words, at, node) {
    this.stack[this.depth] = node
    this.next[this.depth] = node + 1
    this.left[this.depth] = 0
    this.depth++
    this.touched[node] = 1
    this.#event(words, at, ENTER, this.contexts.method[node])
  }

  #exit(words, at) {
    this.depth--
    this.#event(words, at, EXIT, this.contexts.method[this.stack[this.depth]])
  }

  #event(words, at, kind, method) {
    this.ticks += TICKS_PER_EVENT
    words[at] = this.ticks >>> 0
    words[at + 1] = (kind * 2 ** 30 + method * 256 + Math.floor(this.ticks / 2 ** 32)) >>> 0
  }
}

/**
 * Returns a program with `nodes` contexts in total, and `methods` methods.
 *
 * `discover()` returns [thread number, words] in which every context is entered. `run(events)` returns the same for ordinary work, one
 * chunk at a time, with the threads in turn. `touched()` returns the number of contexts that the runs have entered.
 */
export function program(nodes, { threads = 8, methods = Math.ceil(Math.sqrt(nodes) * 20) } = {}) {
  const all = []
  for (let i = 0; i < threads; i++) all.push(new Thread(new Contexts(Math.floor(nodes / threads), methods)))
  let turn = 0
  return {
    threads,
    discover() {
      const whole = all.map((thread) => thread.discover())
      const pieces = []
      for (let from = 0, more = true; more; from += CHUNK_EVENTS * 2) {
        more = false
        for (const [i, words] of whole.entries()) {
          if (from >= words.length) continue
          pieces.push([i + 1, words.subarray(from, from + CHUNK_EVENTS * 2)])
          more = true
        }
      }
      return pieces
    },
    run(events) {
      const pieces = []
      for (let piece = 0; piece < events / CHUNK_EVENTS; piece++) {
        const words = new Uint32Array(CHUNK_EVENTS * 2)
        all[turn].run(words)
        turn = (turn + 1) % threads
        pieces.push([turn === 0 ? threads : turn, words])
      }
      return pieces
    },
    touched: () => all.reduce((sum, thread) => sum + thread.touched.reduce((a, b) => a + b, 0), 0),
    deepest: () => Math.max(...all.map((thread) => deepest(thread.contexts))),
    widest: () => Math.max(...all.map((thread) => widest(thread.contexts))),
  }
}

function deepest({ count, size }) {
  const ends = []
  let most = 0
  for (let node = 0; node < count; node++) {
    while (ends.length > 0 && ends.at(-1) <= node) ends.pop()
    ends.push(node + size[node])
    most = Math.max(most, ends.length)
  }
  return most
}

function widest({ count, size }) {
  let most = 0
  for (let node = 0; node < count; node++) {
    let children = 0
    for (let child = node + 1; child < node + size[node]; child += size[child]) children++
    most = Math.max(most, children)
  }
  return most
}
