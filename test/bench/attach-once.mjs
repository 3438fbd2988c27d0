// One attach, measured in a separate process, like the command `jfluid`:
//
//   node test/bench/attach-once.mjs <pid> <root>
//
// Prints one line of JSON: the times (Unix ms) at which the agent was connected, the recording had begun, and the first snapshot with a
// root call existed, and the duration of the detach. This program loads modules one by one, which takes some 0.2 s longer than loading the
// files of the build.

import { load } from './support.mjs'

const now = () => performance.timeOrigin + performance.now()

const [pid, root] = process.argv.slice(2)
const { attachDoor } = await load('session/doors/door.js')
const { Session } = await load('session/session.js')
const { sessionOptions } = await load('commands/options.js')

const options = sessionOptions({ root: [root], scheme: 'b' })
const door = await attachDoor(Number(pid))
const connected = now()
const session = await Session.start(door, options)
const recording = now()
let tree
let nodes
const until = recording + 10_000
do {
  const { merged } = await session.snapshot(false)
  // Two nodes: the root has been called and has called a method.
  nodes = merged.count
  if (nodes > 1) tree = now()
  else await new Promise((resolve) => setTimeout(resolve, 5))
} while (tree === undefined && now() < until)
await new Promise((resolve) => setTimeout(resolve, 300))
const leaving = now()
const report = await session.detach()
const left = now()
await session.close()
const { woken } = door
console.log(
  JSON.stringify({ connected, recording, tree, nodes, woken, detachMs: left - leaving, agentMs: report?.ms }),
)
process.exit()
