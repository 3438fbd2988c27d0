// Examples for each command in `--help`, the manual page and the README: lines that a reader can paste. A test parses each line.

import { maxOf } from '../base/arrays.ts'

export interface Example {
  /** Command line without "jfluid". */
  readonly line: string
  readonly says: string
}

/** Examples keyed by command. */
export const EXAMPLES: { readonly [command: string]: readonly Example[] } = {
  ps: [
    { line: 'ps', says: 'which JVMs are there?' },
    { line: 'ps --json', says: 'for programs' },
  ],
  doctor: [
    { line: 'doctor 4711', says: 'what would an attach meet? Touches nothing' },
    { line: 'doctor k8s:shop/orders-0', says: 'the same of a pod on this node' },
    { line: 'doctor 4711 --root OrderService.process', says: 'how much would be instrumented?' },
    { line: 'doctor --jdwp 5005 --root Checkout.pay', says: 'the same, with no agent loaded' },
  ],
  roots: [
    { line: 'roots 4711', says: 'where do its tasks begin?' },
    { line: 'roots 4711 --duration 20s --top 5', says: 'more samples, fewer lines' },
  ],
  attach: [
    { line: 'attach 4711 --root com.shop.OrderService.process', says: 'watch one task, live' },
    { line: "attach 4711 --root Checkout.pay --include 'com.shop.**'", says: 'only the own packages' },
    { line: 'attach 4711 --region Journal.append:120-140', says: 'how long do these lines take?' },
    { line: 'attach ssh://shop7/OrderServer --root Checkout.pay', says: 'a JVM of another machine' },
    { line: 'attach', says: 'pick the JVM and the root from lists' },
    { line: 'attach --wait-for OrderServer --root OrderService.process', says: 'once it is started' },
    { line: "attach --all 'shop-*.jar' --root Checkout.pay", says: 'several JVMs in one view' },
    { line: 'attach --jdwp 5005 --root Checkout.pay', says: "over a debugger's port, without attach" },
    { line: 'attach container:shop --root Checkout.pay', says: 'the JVM of a container' },
    { line: 'attach 4711 --mode sample --every 10ms', says: 'where is the whole JVM?' },
  ],
  record: [
    { line: 'record 4711 --root OrderService.process --out p.jfluid', says: 'ten seconds, into a file' },
    {
      line: 'record 4711 -r Checkout.pay --mode alloc --duration 1m --out p.jfluid',
      says: 'what it allocates in a minute',
    },
    {
      line: 'record 4711 -r Checkout.pay --push http://pyroscope:4040',
      says: 'into a store of profiles',
    },
    { line: "record --all 'shop-*.jar' --root Checkout.pay --out p.jfluid", says: 'several JVMs together' },
  ],
  proxy: [
    { line: 'proxy --listen 7071', says: 'for clients that have its key, by a tunnel to this machine' },
    { line: 'proxy --listen 10.0.0.7:7071 --key-file proxy.key', says: 'the same key each time' },
  ],
  detach: [
    { line: 'detach 4711', says: 'its jfluid hangs: give the JVM its own code back' },
    { line: 'detach 4711 --force --json', says: 'also if it lives; for programs' },
  ],
  run: [
    { line: 'run --root Main.main -- java -jar app.jar', says: 'from the first class on, live' },
    {
      line: 'run --root A.main --mode bytecodes --record p.jfluid -- java -jar a.jar',
      says: 'the same numbers in every run',
    },
  ],
  gate: [
    { line: 'gate baseline.jfluid p.jfluid --tolerance 0.5%', says: 'does it execute more than it did?' },
    { line: 'gate baseline.jfluid -- java -jar app.jar', says: 'run it as the baseline was, and compare' },
  ],
  open: [{ line: 'open p.jfluid', says: 'walk through it in the live view, offline' }],
  compare: [
    { line: 'compare old.jfluid new.jfluid', says: 'what costs more, what less?' },
    {
      line: "compare old.jfluid new.jfluid --fail-if 'Checkout.pay self > +10%'",
      says: 'end with 82 if it does',
    },
  ],
  report: [
    { line: 'report p.jfluid', says: 'read it on a page' },
    {
      line: 'report p.jfluid --back-traces EditDistance.row',
      says: 'who calls it, and how much of it is whose?',
    },
    { line: 'report p.jfluid --top 50 --json', says: 'for programs' },
  ],
  export: [
    { line: 'export p.jfluid --format collapsed --out p.collapsed', says: 'for flame graphs' },
    { line: 'export p.jfluid --out p.speedscope.json', says: 'for speedscope; the name says the format' },
    { line: 'export p.jfluid --out p.html', says: 'for a browser, offline' },
    { line: 'export p.jfluid --format json --out p.json', says: 'everything, for programs' },
  ],
  push: [
    { line: 'push p.jfluid --to http://pyroscope:4040', says: 'into a Pyroscope' },
    { line: 'push p.jfluid --to otlp+http://collector:4318', says: 'by OTLP, which is experimental' },
  ],
  'agent-path': [
    { line: 'agent-path', says: 'the option for a JVM that may be profiled later' },
    { line: 'agent-path > agent.option', says: 'only that is on the standard output' },
  ],
  completion: [
    { line: 'completion bash > ~/.local/share/bash-completion/completions/jfluid', says: 'in new shells' },
    { line: 'completion fish | source', says: 'in this one' },
  ],
  man: [{ line: 'man | man -l -', says: 'read the manual' }],
}

/** Commands whose first example is shown in the general help. */
const FIRST = ['ps', 'attach', 'record', 'run', 'open', 'report']

export function firstExamples(): readonly Example[] {
  return FIRST.flatMap((command) => EXAMPLES[command]?.slice(0, 1) ?? [])
}

/** Formats the examples for the help text. */
export function exampleText(examples: readonly Example[]): string {
  if (examples.length === 0) return ''
  const longest = maxOf(examples.map(({ line }) => line.length))
  // Comments stand beside the commands if all lines fit into 80 characters, otherwise above them.
  const isNarrow = examples.every(({ says }) => longest + says.length + 13 <= 80)
  const rows = examples.map(({ line, says }) =>
    isNarrow ? `  jfluid ${line.padEnd(longest)}  # ${says}` : `  # ${says}\n  jfluid ${line}`,
  )
  return `\nExamples:\n${rows.join('\n')}`
}
