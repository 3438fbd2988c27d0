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
    { line: 'ps', says: 'list the JVMs' },
    { line: 'ps --json', says: 'list the JVMs as JSON' },
  ],
  doctor: [
    { line: 'doctor 4711', says: 'check whether an attach would work; changes nothing' },
    { line: 'doctor k8s:shop/orders-0', says: 'check a pod on this node' },
    { line: 'doctor 4711 --root OrderService.process', says: 'how many methods would be instrumented?' },
    {
      line: 'doctor --jdwp 5005 --root Checkout.pay',
      says: 'check an attach through a debug port, without an agent',
    },
  ],
  roots: [
    { line: 'roots 4711', says: 'which methods are good roots?' },
    { line: 'roots 4711 --duration 20s --top 5', says: 'more samples, fewer lines' },
  ],
  attach: [
    { line: 'attach 4711 --root com.shop.OrderService.process', says: 'profile one task, live' },
    {
      line: "attach 4711 --root Checkout.pay --include 'com.shop.**'",
      says: 'instrument only your own packages',
    },
    { line: 'attach 4711 --region Journal.append:120-140', says: 'how long do these lines take?' },
    {
      line: 'attach ssh://shop7/OrderServer --root Checkout.pay',
      says: 'attach to a JVM on another machine',
    },
    { line: 'attach', says: 'choose the JVM and the root from lists' },
    {
      line: 'attach --wait-for OrderServer --root OrderService.process',
      says: 'attach as soon as the JVM starts',
    },
    { line: "attach --all 'shop-*.jar' --root Checkout.pay", says: 'show several JVMs in one view' },
    { line: 'attach --jdwp 5005 --root Checkout.pay', says: 'attach through a debug port' },
    { line: 'attach container:shop --root Checkout.pay', says: 'attach to the JVM of a container' },
    { line: 'attach 4711 --mode sample --every 10ms', says: 'sample the whole JVM' },
  ],
  record: [
    {
      line: 'record 4711 --root OrderService.process --out p.jfluid',
      says: 'record ten seconds into a file',
    },
    {
      line: 'record 4711 -r Checkout.pay --mode alloc --duration 1m --out p.jfluid',
      says: 'record the allocations of one minute',
    },
    {
      line: 'record 4711 -r Checkout.pay --push http://pyroscope:4040',
      says: 'send the profile to a Pyroscope server',
    },
    {
      line: "record --all 'shop-*.jar' --root Checkout.pay --out p.jfluid",
      says: 'record several JVMs into one profile',
    },
  ],
  proxy: [
    { line: 'proxy --listen 7071', says: 'accept clients that have the key and a tunnel to this machine' },
    { line: 'proxy --listen 10.0.0.7:7071 --key-file proxy.key', says: 'use the same key each time' },
  ],
  detach: [
    { line: 'detach 4711', says: 'the jfluid process hangs: restore the original code of the JVM' },
    { line: 'detach 4711 --force --json', says: 'also if the jfluid process works; print JSON' },
  ],
  run: [
    { line: 'run --root Main.main -- java -jar app.jar', says: 'profile from the first class on, live' },
    {
      line: 'run --root A.main --mode bytecodes --record p.jfluid -- java -jar a.jar',
      says: 'record numbers that are the same in every run',
    },
  ],
  gate: [
    {
      line: 'gate baseline.jfluid p.jfluid --tolerance 0.5%',
      says: 'does the task execute more bytecodes than before?',
    },
    {
      line: 'gate baseline.jfluid -- java -jar app.jar',
      says: 'run the program with the options of the baseline, and compare',
    },
  ],
  open: [{ line: 'open p.jfluid', says: 'show a profile in the live view, offline' }],
  compare: [
    { line: 'compare old.jfluid new.jfluid', says: 'show which methods cost more, and which cost less' },
    {
      line: "compare old.jfluid new.jfluid --fail-if 'Checkout.pay self > +10%'",
      says: 'exit with status 82 if the condition holds',
    },
  ],
  report: [
    { line: 'report p.jfluid', says: 'print a profile as text' },
    {
      line: 'report p.jfluid --back-traces EditDistance.row',
      says: 'show the callers of a method, and the share of each',
    },
    { line: 'report p.jfluid --top 50 --json', says: 'print a profile as JSON' },
  ],
  export: [
    { line: 'export p.jfluid --format collapsed --out p.collapsed', says: 'convert for flame graph tools' },
    {
      line: 'export p.jfluid --out p.speedscope.json',
      says: 'convert for speedscope; the file name selects the format',
    },
    { line: 'export p.jfluid --out p.html', says: 'convert to a page for a browser, offline' },
    { line: 'export p.jfluid --format json --out p.json', says: 'convert all data to JSON' },
  ],
  push: [
    { line: 'push p.jfluid --to http://pyroscope:4040', says: 'send a profile to a Pyroscope server' },
    {
      line: 'push p.jfluid --to otlp+http://collector:4318',
      says: 'send a profile over OTLP (experimental)',
    },
  ],
  'agent-path': [
    { line: 'agent-path', says: 'print the option' },
    { line: 'agent-path > agent.option', says: 'write the option to a file' },
  ],
  completion: [
    {
      line: 'completion bash > ~/.local/share/bash-completion/completions/jfluid',
      says: 'enable completion in new shells',
    },
    { line: 'completion fish | source', says: 'enable completion in this shell' },
  ],
  man: [{ line: 'man | man -l -', says: 'show the manual page' }],
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
