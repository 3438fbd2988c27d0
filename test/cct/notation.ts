// A notation for calls, for tests of trees.
//
//   main> 0      main is entered at tick 0
//   main< 100    main is left at tick 100
//   main^ 50     a handler of main has caught an exception
//   adjust 5     the thread was stalled by jfluid for 5 ticks since the last event
//   suspend 40, resume 60, root
//   submit 7     submits work with token 7; begin 7 and drop 7 begin or discard this work
//   @2           the next events are of thread 2; @7.0 is segment 0 of virtual thread 7
//
// Trees are shown as `main 1x 33ns ( work 2x 54ns )`: calls, then self time.

import type { Calibration } from '../../src/base/compensation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import type { Tree } from '../../src/cct/tree.ts'
import type { EventSink } from '../../src/events/decode.ts'
import { enter, exit } from '../events/sinks.ts'

export const FREE: Calibration = { innerTicks: 0, outerTicks: 0 }

const names = ['']

/** Returns the method id of a name. Ids are assigned in order of the first use of a name. */
export function idOf(name: string): number {
  if (!names.includes(name)) names.push(name)
  return names.indexOf(name)
}

/** Returns the name to which `idOf` has assigned this id. */
export function nameOf(id: number): string {
  return names[id]
}

/** Feeds events. Events without a leading `@n` belong to thread 1. */
export function play(sink: EventSink, text: string): void {
  const words = text.trim().split(/\s+/)
  if (!words[0].startsWith('@')) sink.thread?.(1, -1)
  for (let i = 0; i < words.length; i++) {
    const word = words[i]
    const number = () => Number(words[++i])
    if (word.startsWith('@')) {
      const [thread, segment] = word.slice(1).split('.')
      sink.thread?.(Number(thread), segment === undefined ? -1 : Number(segment))
    } else if (word.endsWith('>')) enter(sink, idOf(word.slice(0, -1)), number())
    else if (word.endsWith('<')) exit(sink, idOf(word.slice(0, -1)), number())
    else if (word.endsWith('^')) sink.caught?.(idOf(word.slice(0, -1)), number())
    else if (word === 'adjust') sink.adjust(number())
    else if (word === 'suspend') sink.suspend?.(number())
    else if (word === 'resume') sink.resume?.(number())
    else if (word === 'root') sink.root?.()
    else if (word === 'unwind') sink.unwind?.(number())
    else if (word === 'sample') sink.sample?.(number())
    else if (word === 'submit') sink.submit?.(number())
    else if (word === 'begin') sink.begin?.(number())
    else if (word === 'drop') sink.drop?.(number())
    else throw new Error(`no such event: ${word}`)
  }
}

export function built(text: string): CctBuilder {
  const builder = new CctBuilder()
  play(builder, text)
  return builder
}

export function treeOf(builder: CctBuilder, calibration = FREE, nowTicks?: number): Tree {
  return snapshotOf(builder, { calibration, nsPerTick: 1, ...(nowTicks !== undefined && { nowTicks }) })
    .merged
}

/** Returns the numbers of the threads with a tree of their own; VIRTUAL for the tree of all virtual threads. */
export function threadsOf(builder: CctBuilder): number[] {
  return snapshotOf(builder, { calibration: FREE, nsPerTick: 1 }).threads.map(({ number }) => number)
}

export function cctOf(text: string, calibration = FREE): Tree {
  return treeOf(built(text), calibration)
}

export function show(tree: Tree, metric = 'selfNs', count = 'calls'): string {
  let text = ''
  const ends: number[] = []
  for (let node = 0; node < tree.count; node++) {
    while (ends.length > 0 && ends[ends.length - 1] === node) {
      text += ' )'
      ends.pop()
    }
    text += `${text === '' || text.endsWith('( ') ? '' : ' '}${names[tree.method[node]]} `
    text += `${tree.metrics[count][node]}x ${tree.metrics[metric][node]}ns`
    if (tree.size[node] > 1) {
      text += ' ('
      ends.push(node + tree.size[node])
    }
  }
  return text + ' )'.repeat(ends.length)
}
