// Writes a tree as differences from the tree at the other end. If the budget is too small for all differences, the largest differences
// are sent first. `tree-mirror.ts` reads the updates.
// Nodes are identified by their path of methods, so the order of nodes in a snapshot does not matter. A node that is sent for the first
// time is appended to the list at the other end, and its index in that list becomes its number. Values are whole numbers; fractions of a
// nanosecond are not sent. Totals that are sums over a subtree are not sent.
// An update consists of varints:
//     removed   count, then for each removed node its number minus the previous number (for the first: minus -1), ascending
//     added     count, then for each added node: number of its parent + 1 (0: no parent), method, values
//     changed   count, then for each changed node: number as above, values
//     pending   count of nodes that the other end does not have yet, or has with old values
//     values    a mask of the columns that differ, then the signed differences in column order
// The column names are sent beside the bytes, with `total=self` for each column that the other end sums up. An update with column names
// replaces the whole tree.

import { enlarged } from '../base/enlarged.ts'
import type { Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { bytesOf, VarintWriter } from './varints.ts'

export interface TreeUpdate {
  /** Names of the columns. Null if they are unchanged since the previous update. */
  readonly columns: readonly string[] | null
  readonly bytes: Uint8Array
  /** Number of nodes that are left for the next update. */
  readonly pending: number
}

/** Method ids are below this limit. Slots are below 2^53 divided by this limit. */
const METHODS = 2 ** 28
/** Largest difference that a signed varint holds exactly in one update. The remainder is sent with the next update. */
const MAX_DIFFERENCE = 2 ** 51
/**
 * Share of the budget for the largest changes. The rest is used for nodes in round-robin order, so that every change is sent eventually.
 */
const PART_BY_SIZE = 0.5
const BUCKETS = 33
/** The table is rebuilt when it has more removed nodes than live nodes plus this number. */
const MAX_DEAD = 1 << 16
const NOT_SENT = -1
/** The mask of columns must fit into one number. */
export const MAX_COLUMNS = 30

const SUMMED = Object.values(METRICS).filter(({ sumsUp }) => sumsUp)

/** Returns the columns of a tree to be sent: columns with own values, and columns that are sums. */
export function columnsOf({ metrics }: Tree): { readonly sent: string[]; readonly summed: string[] } {
  const summed = SUMMED.filter((it) => metrics[it.self] !== undefined && metrics[it.total] !== undefined)
  const totals = new Set(summed.map((it) => it.total))
  return {
    sent: Object.keys(metrics).filter((name) => !totals.has(name)),
    summed: summed.map((it) => `${it.total}=${it.self}`),
  }
}

export class TreeWriter {
  readonly #onMethod: (id: number) => void
  #columns: readonly string[] = []
  /** Maps (slot of the parent + 1, method) to the slot. */
  #slots = new Map<number, number>()
  // Arrays indexed by slot. The slot of a parent is smaller than the slots of its children.
  #parent = new Int32Array(1024)
  #method = new Int32Array(1024)
  /** Number of the last snapshot that contained the node. 0 once the node has been removed. */
  #seen = new Int32Array(1024)
  /** Number of the node at the other end. */
  #number = new Int32Array(1024)
  /** 1 if the node has changes and is part of this update. */
  #chosen = new Uint8Array(1024)
  /** Current values, grouped by column. `#told` holds the values at the other end. */
  #now: Float64Array[] = []
  #told: Float64Array[] = []
  #count = 0
  #alive = 0
  /** Maps the number of a node to its slot. */
  #numbered: number[] = []
  #round = 0
  /** Slot at which the round-robin order continues. */
  #cursor = 0

  /** @param onMethod  called with the method of each node that is sent for the first time */
  constructor(onMethod: (id: number) => void = () => {}) {
    this.#onMethod = onMethod
  }

  /**
   * Writes the differences to a tree.
   * @param budget  maximum number of bytes; the update may exceed it by the ancestors of new nodes
   */
  update(tree: Tree, budget: number): TreeUpdate {
    const { sent, summed } = columnsOf(tree)
    if (sent.length > MAX_COLUMNS) throw new RangeError(`a tree of ${sent.length} columns`)
    const columns = [...sent, ...summed]
    const isNew =
      this.#round === 0 || columns.join() !== this.#columns.join() || this.#count > 2 * this.#alive + MAX_DEAD
    if (isNew) this.#begin(columns, sent.length)
    this.#take(tree, sent)
    const removed = this.#forgetUnseen()
    const due = this.#choose(budget, sent.length)
    const out = new VarintWriter()
    out.append(removed)
    const went = this.#write(out)
    const pending = due - went
    out.unsigned(pending)
    return { columns: isNew ? columns : null, bytes: out.finish(), pending }
  }

  #begin(columns: readonly string[], sent: number): void {
    this.#columns = columns
    this.#slots = new Map()
    this.#count = this.#alive = this.#cursor = this.#round = 0
    this.#numbered = []
    const size = this.#parent.length
    this.#now = Array.from({ length: sent }, () => new Float64Array(size))
    this.#told = Array.from({ length: sent }, () => new Float64Array(size))
    this.#seen.fill(0)
  }

  /** Reads the values of a snapshot. Hot: the loop runs once for each node of each snapshot. */
  #take({ count, parent, method, metrics }: Tree, names: readonly string[]): void {
    const round = ++this.#round
    const slotOf = new Int32Array(count)
    for (let i = 0; i < count; i++) {
      const above = parent[i]! < 0 ? -1 : slotOf[parent[i]!]!
      const id = method[i]!
      if (id < 0 || id >= METHODS) throw new RangeError(`a method ${id}`)
      const key = (above + 1) * METHODS + id
      let slot = this.#slots.get(key)
      if (slot === undefined) {
        slot = this.#add(above, id)
        this.#slots.set(key, slot)
      }
      slotOf[i] = slot
      // Two nodes with the same path are merged.
      const isSecond = this.#seen[slot] === round
      this.#seen[slot] = round
      for (let c = 0; c < names.length; c++) {
        const value = Math.round(metrics[names[c]!]![i]!)
        const now = this.#now[c]!
        now[slot] = isSecond ? now[slot]! + value : value
      }
    }
  }

  #add(parent: number, method: number): number {
    const slot = this.#count++
    if (slot === this.#parent.length) this.#grow()
    this.#parent[slot] = parent
    this.#method[slot] = method
    this.#number[slot] = NOT_SENT
    for (const told of this.#told) told[slot] = 0
    this.#alive++
    return slot
  }

  #grow(): void {
    const slot = this.#parent.length
    this.#parent = enlarged(this.#parent, slot)
    this.#method = enlarged(this.#method, slot)
    this.#seen = enlarged(this.#seen, slot)
    this.#number = enlarged(this.#number, slot)
    this.#chosen = enlarged(this.#chosen, slot)
    this.#now = this.#now.map((it) => enlarged(it, slot))
    this.#told = this.#told.map((it) => enlarged(it, slot))
  }

  /**
   * Frees the slots of removed nodes.
   * @returns the list of removed nodes that the other end has
   */
  #forgetUnseen(): VarintWriter {
    const gone: number[] = []
    for (let slot = 0; slot < this.#count; slot++) {
      const seen = this.#seen[slot]!
      if (seen === 0 || seen === this.#round) continue
      this.#seen[slot] = 0
      this.#alive--
      this.#slots.delete((this.#parent[slot]! + 1) * METHODS + this.#method[slot]!)
      if (this.#number[slot] !== NOT_SENT) gone.push(this.#number[slot]!)
    }
    gone.sort((a, b) => a - b)
    const out = new VarintWriter()
    out.unsigned(gone.length)
    let before = -1
    for (const number of gone) {
      out.unsigned(number - before)
      before = number
    }
    return out
  }

  /**
   * Marks the nodes that are part of this update.
   * @returns the number of nodes with changes
   */
  #choose(budget: number, columns: number): number {
    const count = this.#count
    const round = this.#round
    const chosen = this.#chosen
    const now = this.#now
    const told = this.#told
    const bytesBySize = new Float64Array(BUCKETS)
    /** 0: the node has no changes; otherwise its bucket + 1. */
    const bucketOf = new Uint8Array(count)
    const cost = new Uint8Array(count)
    let due = 0
    let all = 0
    for (let slot = 0; slot < count; slot++) {
      chosen[slot] = 0
      if (this.#seen[slot] !== round) continue
      let size = 0
      let bytes = 0
      for (let c = 0; c < columns; c++) {
        const difference = Math.abs(now[c]![slot]! - told[c]![slot]!)
        if (difference === 0) continue
        size += difference
        bytes += bytesOf(2 * Math.min(difference, MAX_DIFFERENCE))
      }
      const isNew = this.#number[slot] === NOT_SENT
      if (bytes === 0 && !isNew) continue
      bytes += isNew ? bytesOf(this.#parent[slot]! + 1) + bytesOf(this.#method[slot]!) + 1 : 3
      const bucket = 32 - Math.clz32(Math.min(size, 2 ** 31))
      bucketOf[slot] = bucket + 1
      cost[slot] = bytes
      bytesBySize[bucket]! += bytes
      all += bytes
      due++
    }
    if (all <= budget) {
      for (let slot = 0; slot < count; slot++) if (bucketOf[slot] !== 0) chosen[slot] = 1
      return due
    }
    let room = budget
    let least = BUCKETS
    while (least > 0 && budget - room + bytesBySize[least - 1]! <= budget * PART_BY_SIZE)
      room -= bytesBySize[--least]!
    for (let slot = 0; slot < count; slot++) if (bucketOf[slot]! > least) chosen[slot] = 1
    for (let n = 0; n < count && room > 0; n++) {
      const slot = this.#cursor
      this.#cursor = slot + 1 >= count ? 0 : slot + 1
      if (bucketOf[slot] === 0 || chosen[slot] === 1) continue
      chosen[slot] = 1
      room -= cost[slot]!
    }
    // A new node requires that the other end has its parent.
    for (let slot = count - 1; slot >= 0; slot--) {
      const above = this.#parent[slot]!
      if (chosen[slot] === 1 && above >= 0 && this.#number[above] === NOT_SENT) chosen[above] = 1
    }
    return due
  }

  /**
   * Writes the added and the changed nodes.
   * @returns the number of nodes written
   */
  #write(out: VarintWriter): number {
    const changed = new VarintWriter()
    let changes = 0
    let before = -1
    const known = this.#numbered.length
    for (let number = 0; number < known; number++) {
      const slot = this.#numbered[number]!
      if (this.#chosen[slot] !== 1 || this.#seen[slot] !== this.#round) continue
      changed.unsigned(number - before)
      before = number
      this.#values(changed, slot)
      changes++
    }
    const added = new VarintWriter()
    for (let slot = 0; slot < this.#count; slot++) {
      if (this.#chosen[slot] !== 1 || this.#number[slot] !== NOT_SENT || this.#seen[slot] !== this.#round)
        continue
      const above = this.#parent[slot]!
      added.unsigned(above < 0 ? 0 : this.#number[above]! + 1)
      added.unsigned(this.#method[slot]!)
      this.#values(added, slot)
      this.#number[slot] = this.#numbered.length
      this.#numbered.push(slot)
      this.#onMethod(this.#method[slot]!)
    }
    const additions = this.#numbered.length - known
    out.unsigned(additions)
    out.append(added)
    out.unsigned(changes)
    out.append(changed)
    return additions + changes
  }

  #values(out: VarintWriter, slot: number): void {
    let mask = 0
    for (let c = 0; c < this.#now.length; c++) {
      if (this.#now[c]![slot] !== this.#told[c]![slot]) mask += 2 ** c
    }
    out.unsigned(mask)
    for (let c = 0; c < this.#now.length; c++) {
      const told = this.#told[c]!
      const difference = this.#now[c]![slot]! - told[slot]!
      if (difference === 0) continue
      const sent = Math.max(-MAX_DIFFERENCE, Math.min(MAX_DIFFERENCE, difference))
      out.signed(sent)
      told[slot]! += sent
    }
  }
}
