// Whether probes should be inlined: whole programs with methodEntry and methodExit inlined as HotSpot decides, always inlined, and never
// inlined. CompileCommand gives the compilers the same orders as @ForceInline and @DontInline.
//
// The time until the compilers are quiet matters as much as the later cost of a call: during this time a program is slower than with its
// final code.

import {
  PROGRAMS,
  ProgramJvm,
  preparePrograms,
  profiledRound,
  profileProgram,
  range,
  WHOLE,
  wanted,
} from './programs.mjs'
import { median } from './support.mjs'

const ROUNDS = 5
const ROUND_MS = 800
const BARE_SETTLE_MS = 12_000
const SETTLE_MS = 30_000
/** Maximum duration of the early phase, in which the program is measured as a user meets it after an attach. */
const EARLY_MS = 4000

const rule = (what, methods) =>
  ['quiet', ...methods.map((it) => `${what},java.lang.${it}`)].map((it) => `-XX:CompileCommand=${it}`)
const PROBES = ['JFluid1::methodEntry', 'JFluid1::methodExit']
const VARIANTS = {
  'as it is': [],
  inlined: rule('inline', [...PROBES, 'JFluid1Threads::current', 'JFluid1Session::ticks']),
  'not inlined': rule('dontinline', PROBES),
}

export async function inlining(jdks) {
  for (const jdk of jdks) {
    console.log(
      `\n${jdk.name}, scheme B; ns of CPU time a call beyond bare; ${ROUNDS} rounds of ${ROUND_MS} ms once the compilers are quiet`,
    )
    console.log(HEAD)
    const prepared = await preparePrograms(jdk)
    for (const program of PROGRAMS.filter(wanted))
      for (const [name, options] of Object.entries(VARIANTS)) {
        const jvm = new ProgramJvm(jdk, prepared, program, options)
        try {
          console.log(`| ${program.title} | ${name} | ${(await row(jvm, program)).join(' | ')} |`)
        } catch (error) {
          console.log(`| ${program.title} | ${name} | FAILED: ${error.message.split('\n')[0]} |`)
        } finally {
          await jvm.end()
        }
      }
  }
}

const HEAD = `| program | probes | first ${EARLY_MS / 1000} s | settled | charged / bare, on a core | compilers, CPU s | settled after, s | calibrated |
| --- | --- | --- | --- | --- | --- | --- | --- |`

async function row(jvm, program) {
  await jvm.ready()
  await jvm.settle(BARE_SETTLE_MS)
  const bare = median((await rounds(() => jvm.round(ROUND_MS))).map((it) => it.cpu))
  const session = await profileProgram(jvm.pid, WHOLE, 'b', program.flags)
  await jvm.run() // scheme b finds its methods in this run
  const early = await profiledRound(jvm, session, EARLY_MS)
  const settled = await jvm.settle(SETTLE_MS)
  const profiled = await rounds(() => profiledRound(jvm, session, ROUND_MS))
  await session.detach()
  const { innerNs, outerNs } = (await session.profile()).calibration
  await session.close()
  const perCall = ({ cpu, calls }) => ((cpu - bare) / calls) * 1e6
  return [
    perCall(early).toFixed(1),
    range(profiled.map(perCall), 1),
    range(
      profiled.map((it) => (it.charged - it.queued) / bare),
      2,
    ),
    settled.compilers.toFixed(1),
    `${settled.compiling ? '> ' : ''}${settled.seconds.toFixed(0)}`,
    (innerNs + outerNs).toFixed(1),
  ]
}

async function rounds(one) {
  const all = []
  while (all.length < ROUNDS) all.push(await one())
  return all
}
