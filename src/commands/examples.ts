// Examples for each command in `--help`, the manual page and the README: lines that a reader can paste. A test parses each line.

import { maxOf } from '../base/arrays.ts'

export interface Example {
  /** Command line without "jfluid". */
  readonly line: string
  readonly says: string
}

/** What each example does, keyed by command and command line. */
const TEXTS: { readonly [command: string]: { readonly [line: string]: string } } = {
  ps: {
    ps: 'list the JVMs',
    'ps --json': 'list the JVMs as JSON',
  },
  doctor: {
    'doctor 4711': 'check whether an attach would work; changes nothing',
    'doctor k8s:shop/orders-0': 'check a pod on this node',
    'doctor 4711 --root OrderService.process': 'how many methods would be instrumented?',
    'doctor --jdwp 5005 --root Checkout.pay': 'check an attach through a debug port, without an agent',
  },
  why: {
    'why 4711': 'what do requests spend their time on?',
    'why 4711 --duration 30s --top 20': 'more samples, more roots',
  },
  threads: {
    'threads 4711': 'what does each thread do, and which locks do threads wait for?',
    'threads 4711 --idle': 'also the stacks of idle threads',
  },
  attach: {
    'attach 4711 --root com.shop.OrderService.process': 'profile one task, live',
    "attach 4711 --root Checkout.pay --include 'com.shop.**'": 'instrument only your own packages',
    'attach 4711 --region Journal.append:120-140': 'how long do these lines take?',
    'attach ssh://shop7/OrderServer --root Checkout.pay': 'attach to a JVM on another machine',
    attach: 'choose the JVM and the root from lists',
    'attach --wait-for OrderServer --root OrderService.process': 'attach as soon as the JVM starts',
    "attach --all 'shop-*.jar' --root Checkout.pay": 'show several JVMs in one view',
    'attach --jdwp 5005 --root Checkout.pay': 'attach through a debug port',
    'attach container:shop --root Checkout.pay': 'attach to the JVM of a container',
    'attach 4711 --mode sample --every 10ms': 'sample the whole JVM',
  },
  record: {
    'record 4711 --root OrderService.process --out p.jfluid': 'record ten seconds into a file',
    'record 4711 -r Checkout.pay --mode alloc --duration 1m --out p.jfluid':
      'record the allocations of one minute',
    'record 4711 -r Checkout.pay --push http://pyroscope:4040': 'send the profile to a Pyroscope server',
    'record shop -r Checkout.pay --repeat 10m --push http://pyroscope:4040':
      'send a profile of ten seconds every ten minutes, until Ctrl-C',
    "record --all 'shop-*.jar' --root Checkout.pay --out p.jfluid": 'record several JVMs into one profile',
  },
  proxy: {
    'proxy --listen 7071': 'accept clients that have the key and a tunnel to this machine',
    'proxy --listen 10.0.0.7:7071 --key-file proxy.key': 'use the same key each time',
  },
  detach: {
    'detach 4711': 'the jfluid process hangs: restore the original code of the JVM',
    'detach 4711 --force --json': 'also if the jfluid process works; print JSON',
  },
  run: {
    'run --root Main.main -- java -jar app.jar': 'profile from the first class on, live',
    'run --root A.main --mode bytecodes --record p.jfluid -- java -jar a.jar':
      'record numbers that are the same in every run',
  },
  gate: {
    'gate baseline.jfluid p.jfluid --tolerance 0.5%': 'does the task execute more bytecodes than before?',
    'gate baseline.jfluid -- java -jar app.jar':
      'run the program with the options of the baseline, and compare',
  },
  open: {
    'open p.jfluid': 'show a profile in the live view, offline',
    'open p.jfluid --source src/main/java': 'also show source lines with the key v',
  },
  compare: {
    'compare old.jfluid new.jfluid': 'show which methods cost more, and which cost less',
    "compare old.jfluid new.jfluid --fail-if 'Checkout.pay self > +10%'":
      'exit with status 82 if the condition holds',
    'compare --before a1.jfluid a2.jfluid --after b1.jfluid b2.jfluid':
      'compare several recordings a side: the noise is known',
    'compare p.jfluid --before 0s-30s --after 30s-60s': 'compare two parts of a recording',
  },
  report: {
    'report p.jfluid': 'print a profile as text',
    'report p.jfluid --back-traces EditDistance.row': 'show the callers of a method, and the share of each',
    'report p.jfluid --top 50 --json': 'print a profile as JSON',
    'report p.jfluid --from 12s --to 20s': 'print only a part of the recording',
  },
  export: {
    'export p.jfluid --format collapsed --out p.collapsed': 'convert for flame graph tools',
    'export p.jfluid --out p.speedscope.json': 'convert for speedscope; the file name selects the format',
    'export p.jfluid --out p.html': 'convert to a page for a browser, offline',
    'export p.jfluid --format json --out p.json': 'convert all data to JSON',
  },
  push: {
    'push p.jfluid --to http://pyroscope:4040': 'send a profile to a Pyroscope server',
    'push p.jfluid --to otlp+http://collector:4318': 'send a profile over OTLP (experimental)',
  },
  mcp: {
    mcp: 'the tools list, report and compare',
    'mcp --allow-attach': 'also the tools why and record',
  },
  'agent-path': {
    'agent-path': 'print the option',
    'agent-path > agent.option': 'write the option to a file',
  },
  completion: {
    'completion bash > ~/.local/share/bash-completion/completions/jfluid': 'enable completion in new shells',
    'completion fish | source': 'enable completion in this shell',
  },
  man: { 'man | man -l -': 'show the manual page' },
}

/** Examples keyed by command. */
export const EXAMPLES: { readonly [command: string]: readonly Example[] } = Object.fromEntries(
  Object.entries(TEXTS).map(([command, texts]) => [
    command,
    Object.entries(texts).map(([line, says]) => ({ line, says })),
  ]),
)

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
