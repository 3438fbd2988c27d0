// npm run bench [-- --jdk 25 probe …]: measures the promised figures on this machine, or only the given sections.
//
// Nothing is asserted. Compare only figures of one run, and consider the load: on a busy machine every figure is worse. RESULTS.md contains
// a run that was reviewed.

import { parseArgs } from 'node:util'
import { findJdks, loadAverage, machine } from './support.mjs'

const SECTIONS = {
  start: async () => (await import('./start.mjs')).start(),
  probe: async (jdks) => (await import('./probe.mjs')).probe(jdks),
  clock: async (jdks) => (await import('./clock.mjs')).clock(jdks),
  threads: async (jdks) => (await import('./threads.mjs')).threads(jdks),
  heap: async (jdks) => (await import('./heap.mjs')).heap(jdks),
  attach: async (jdks) => (await import('./attach.mjs')).attach(jdks),
  detach: async (jdks) => (await import('./detach.mjs')).detach(jdks),
  'agent-start': async (jdks) => (await import('./agent-start.mjs')).agentStart(jdks),
  inlining: async (jdks) => (await import('./inlining.mjs')).inlining(jdks),
  tables: async (jdks) => (await import('./tables.mjs')).tables(jdks),
  modes: async (jdks) => (await import('./modes.mjs')).modes(jdks),
  adaptive: async (jdks) => (await import('./adaptive.mjs')).adaptive(jdks),
  papers: async (jdks) => (await import('./papers.mjs')).papers(jdks),
  'allocated-root': async (jdks) => (await import('./allocated-root.mjs')).allocatedRoot(jdks),
  regions: async (jdks) => (await import('./regions.mjs')).regions(jdks),
  'sampling-jvm': async (jdks) => (await import('./sampling-jvm.mjs')).samplingJvm(jdks),
  sampling: async (jdks) => (await import('./sampling.mjs')).sampling(jdks),
  server: async (jdks) => (await import('./server.mjs')).server(jdks),
  wait: async (jdks) => (await import('./wait.mjs')).wait(jdks),
  waits: async (jdks) => (await import('./waits.mjs')).waits(jdks),
  finding: async (jdks) => (await import('./finding.mjs')).finding(jdks),
  files: async () => (await import('./files.mjs')).files(),
  segments: async () => (await import('./segments.mjs')).segments(),
  'root-calls': async () => (await import('./root-calls.mjs')).rootCalls(),
  view: async () => (await import('./view.mjs')).view(),
  remote: async (jdks) => (await import('./remote.mjs')).remote(jdks),
  decode: async () => (await import('./decode-section.mjs')).decode(),
}

const { values, positionals: wanted } = parseArgs({
  options: { jdk: { type: 'string' } },
  allowPositionals: true,
})
const unknown = wanted.filter((name) => SECTIONS[name] === undefined)
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${Object.keys(SECTIONS).join(', ')}`)
  process.exit(64)
}
const found = findJdks()
const jdks = found.filter(({ version }) => values.jdk === undefined || String(version) === values.jdk)
if (jdks.length === 0) {
  console.error(`no JDK ${values.jdk} on this machine; there are ${found.map((it) => it.version).join(', ')}`)
  process.exit(69)
}
const begun = performance.now()
console.log(`${new Date().toISOString().slice(0, 10)}  ${machine(jdks).join('\n            ')}`)
for (const name of wanted.length > 0 ? wanted : Object.keys(SECTIONS)) {
  console.log(`\n## ${name}  (load average ${loadAverage()})`)
  try {
    await SECTIONS[name](jdks)
  } catch (error) {
    console.log(`  FAILED: ${error.stack ?? error}`)
    process.exitCode = 1
  }
}
console.log(`\n${((performance.now() - begun) / 1000).toFixed(0)} s, load average ${loadAverage()}`)
process.exit()
