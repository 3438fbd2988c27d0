// Cost of the view of a JVM on another machine: snapshots and bytes per second, and processor time of both ends, over a proxy at the
// loopback interface. In a tree of 111,111 contexts, first all contexts change continuously, then few, then none.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Child, cli, compile, load, verdict } from './support.mjs'

const SECONDS = 10
/** Time until the initial data have been transferred. */
const WARM_UP_DURATION_MS = 5000
const GOAL_KB = 1000
const KINDS = { all: 'all change', few: '112 change', stop: 'none change' }

export async function remote(jdks) {
  const { remoteAddress } = await load('remote/address.js')
  const { RemoteSession } = await load('commands/remote-session.js')
  const { remoteSource } = await load('commands/remote-source.js')
  for (const jdk of jdks) {
    const classes = await compile(jdk, [join(import.meta.dirname, '../fixtures/Broad.java')])
    const java = new Child(jdk.java, ['-cp', classes, 'fix.Broad'])
    let told = () => {}
    const ready = new Promise((resolve) => {
      told = resolve
    })
    const proxy = new Child(process.execPath, [cli, 'proxy', '--listen', '0'], {
      env: { JFLUID_PROXY_KEY: '' }, // the proxy creates a key, and prints it
      onError: (text) => /KEY=\S+\s/.test(text) && told(text),
    })
    try {
      await java.line(/^ready/)
      const said = await ready
      process.env.JFLUID_PROXY_KEY = /KEY=(\S+)/.exec(said)[1]
      const where = `tcp://127.0.0.1:${/:(\d+);/.exec(said)[1]}/${java.pid}`
      const caller = await RemoteSession.reach(remoteAddress(where))
      await RemoteSession.find(caller, String(java.pid))
      const flags = { root: ['fix.Broad.root'], scheme: 'b', mode: 'exact' }
      const source = remoteSource(await RemoteSession.start(caller, java.pid, flags))
      console.log(`\n${jdk.name}, ${SECONDS} s each`)
      console.log('  of 111,111       pictures/s    kB/s  most in 1 s  behind   CPU here %  proxy %')
      for (const [command, name] of Object.entries(KINDS)) {
        await java.ask(command, /^(all|few|stopped)/)
        const until = performance.now() + WARM_UP_DURATION_MS
        while (performance.now() < until) await source.snapshot(false)
        console.log(`  ${name.padEnd(14)} ${row(await measured(source, caller, proxy.pid))}`)
      }
      await caller.leave()
    } finally {
      java.end()
      proxy.end()
    }
  }
}

async function measured(source, caller, proxy) {
  const perSecond = []
  let pictures = 0
  let behind = 0
  let last
  const here = process.cpuUsage()
  const there = cpuMs(proxy)
  const begun = performance.now()
  for (let second = 0; second < SECONDS; second++) {
    const before = caller.bytesRead
    const end = begun + (second + 1) * 1000
    while (performance.now() < end) {
      const picture = await source.snapshot(false)
      if (picture === last) continue
      last = picture
      pictures++
      behind = Math.max(behind, source.status().remote.pending)
    }
    perSecond.push(caller.bytesRead - before)
  }
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(here)
  return {
    pictures: pictures / seconds,
    kb: perSecond.reduce((sum, it) => sum + it) / seconds / 1000,
    most: Math.max(...perSecond) / 1000,
    behind,
    here: (user + system) / 1e4 / seconds,
    there: (cpuMs(proxy) - there) / 10 / seconds,
  }
}

function row({ pictures, kb, most, behind, here, there }) {
  const goal = verdict(kb <= GOAL_KB, `<= ${GOAL_KB} kB/s`)
  return `${[pictures.toFixed(1).padStart(12), kb.toFixed(0).padStart(7), most.toFixed(0).padStart(12), String(behind).padStart(7), here.toFixed(0).padStart(12), there.toFixed(0).padStart(8)].join(' ')}   ${goal}`
}

/** Returns the CPU time of all threads of the process since its start, ms. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
