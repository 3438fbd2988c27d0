// Shares of methods in the time of a root, from stacks of another profiler and from a profile of jfluid, and the agreement of two of them.
//
// A share is a part of the root's time: the method's own time (self), or the time in which the method is on the stack (total). Methods are
// identified by class and name, without overloads.

/** @typedef {Map<string, number>} Shares  keyed by `package.Class.method` */

/**
 * Returns the stacks below a root, outermost frame first, with their number of samples.
 *
 * @param {string} collapsed  lines `outer;…;inner count`, with frames in async-profiler's format (`bench/Truth$Fib.fib_[j]`)
 * @returns {{frames: string[], count: number}[]}
 */
export function stacksBelow(collapsed, root) {
  return collapsed.split('\n').flatMap((line) => {
    const at = line.lastIndexOf(' ')
    const frames = line.slice(0, at).split(';').map(nameOf)
    const begin = frames.indexOf(root)
    const count = Number(line.slice(at + 1))
    return begin < 0 || !(count > 0)
      ? []
      : [{ frames: frames.slice(begin).filter((it) => it !== null), count }]
  })
}

/** Returns null for a frame that is not a Java method. Its time belongs to its caller. */
function nameOf(frame) {
  const plain = frame.replace(/_\[.\]$/, '')
  return /^[\w$/]+\.[\w$<>]+$/.test(plain) && plain.includes('/') ? plain.replaceAll('/', '.') : null
}

/** Returns the stacks of a jfluid tree: one for each node with its own time in ns, or its own samples. */
export function stacksOf(nodes, above = []) {
  return nodes.flatMap(({ class: owner, method, selfNs, selfSamples, children }) => {
    const frames = [...above, `${owner}.${method}`]
    return [{ frames, count: Math.max(0, selfNs ?? selfSamples) }, ...stacksOf(children, frames)]
  })
}

/** @returns {Shares} */
export function totals(stacks) {
  return shares(stacks, ({ frames }) => new Set(frames))
}

/**
 * Returns shares of self time, charged to the innermost method that counts.
 *
 * @returns {Shares}
 */
export function selves(stacks, counts = (_method) => true) {
  return shares(stacks, ({ frames }) => [frames.findLast((it) => counts(it)) ?? frames[0]])
}

function shares(stacks, methodsOf) {
  const all = stacks.reduce((sum, { count }) => sum + count, 0)
  const found = new Map()
  for (const stack of stacks)
    for (const method of methodsOf(stack)) found.set(method, (found.get(method) ?? 0) + stack.count / all)
  return found
}

/** Returns twice the common part divided by the sum of both: 1 if the shares are equal. For self times this is the part that agrees. */
export function overlap(one, other) {
  let [common, all] = [0, 0]
  for (const method of new Set([...one.keys(), ...other.keys()])) {
    const [a, b] = [one.get(method) ?? 0, other.get(method) ?? 0]
    common += Math.min(a, b)
    all += a + b
  }
  return all === 0 ? 1 : (2 * common) / all
}

/** Returns how well the order of two shares agrees, 1 to -1 (tau-a), for methods above this share in one of the two. */
export function kendall(one, other, least = 0.005) {
  const methods = [...new Set([...one.keys(), ...other.keys()])].filter(
    (it) => Math.max(one.get(it) ?? 0, other.get(it) ?? 0) > least,
  )
  let [agreeing, pairs] = [0, 0]
  for (const [i, a] of methods.entries()) {
    for (const b of methods.slice(i + 1)) {
      const by = (of) => Math.sign((of.get(a) ?? 0) - (of.get(b) ?? 0))
      agreeing += by(one) * by(other)
      pairs++
    }
  }
  return pairs === 0 ? 1 : agreeing / pairs
}

/**
 * Returns this number of samples, drawn from the stacks at random. They show the agreement that chance alone permits.
 *
 * @param {() => number} random  returns numbers from 0 to 1
 */
export function thinned(stacks, samples, random = Math.random) {
  const upTo = []
  let all = 0
  for (const { count } of stacks) {
    all += count
    upTo.push(all)
  }
  const drawn = new Array(stacks.length).fill(0)
  for (let i = 0; i < samples; i++) drawn[firstAbove(upTo, random() * all)]++
  return stacks.map(({ frames }, i) => ({ frames, count: drawn[i] }))
}

function firstAbove(sorted, value) {
  let [low, high] = [0, sorted.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (sorted[middle] > value) high = middle
    else low = middle + 1
  }
  return low
}
