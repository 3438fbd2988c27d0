// What the command line understands: commands, arguments, options, and their help.

import { Argument, Command, Option } from 'commander'
import { describeAgent } from '../session/doors/agent-jar.ts'
import type { AttachFlags } from './attach.ts'
import type { CompareFlags } from './compare.ts'
import type { DetachFlags } from './detach.ts'
import type { DoctorFlags } from './doctor.ts'
import { EXAMPLES, exampleText, firstExamples } from './examples.ts'
import type { ExportFlags } from './export.ts'
import type { GateFlags } from './gate.ts'
import { count, percentage, withJdwpFlag, withRootFlags, withSessionFlags } from './options.ts'
import type { ProxyFlags } from './proxy.ts'
import type { PushCommandFlags } from './push.ts'
import { withPushFlags } from './push-options.ts'
import type { RecordFlags } from './record.ts'
import type { ReportFlags } from './report.ts'
import type { RootsFlags } from './roots.ts'
import type { RunFlags } from './run.ts'
import { SHELLS, type Shell } from './shell/scripts.ts'
import { SAMPLERS } from './whole-jvm-options.ts'

/** Of `export/formats.ts`, which is imported when it is used; a test holds them to be the same. */
export const FORMAT_NAMES = [
  'json',
  'csv',
  'collapsed',
  'speedscope',
  'pprof',
  'callgrind',
  'nps',
  'firefox',
  'markdown',
  'html',
  'trace-events',
] as const

const AUTOSAVE_HELP =
  'how often what is recorded so far is written beside the file, in case jfluid is killed: 5s unless given, or off'

const PID_HELP =
  'process id of the JVM, its main class, container:name or k8s:namespace/pod; asked for on a terminal'

const WAIT_HELP =
  "in place of a process id: the first JVM with that main class, a part of it or a pattern as 'com.shop.*', now or once it is started"

const ALL_HELP =
  'in place of a process id: all JVMs with that main class, a part of it or a pattern, or in that container, together; 16 at most'

/**
 * Commands are imported when they run: a picker's React must not slow down `attach`.
 *
 * @param version  of the package
 */
export function commandLine(version: string): Command {
  const program = new Command('jfluid')
    .description('Profile one task of a running JVM: attach, watch its exact calling context tree, detach.')
    .version(
      `jfluid ${version}\n${describeAgent()}`,
      '-V, --version',
      'of jfluid, and of the agent it carries',
    )
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'jfluid: ')) })
    .showHelpAfterError('(add --help for the options)')
    .addHelpText('after', exampleText(firstExamples()))

  program
    .command('ps')
    .description('list JVMs and whether they can be attached to')
    .option('--json', 'as JSON')
    .action(async (flags: { json?: boolean }) => {
      const { ps } = await import('./ps.ts')
      ps(flags, (text) => process.stdout.write(text))
    })

  const doctor = withRootFlags(
    program
      .command('doctor')
      .description('say what an attach would meet, before anything is touched')
      .argument('[pid]', PID_HELP),
  )
  withJdwpFlag(doctor)
    .option('--json', 'as JSON')
    .action(async (pid: string | undefined, flags: DoctorFlags) => {
      const { doctor } = await import('./doctor.ts')
      process.exitCode = await doctor(pid, flags, (text) => process.stdout.write(text))
    })

  program
    .command('roots')
    .description('sample a JVM for some seconds, and say which methods would do as --root')
    .argument('[pid]', PID_HELP)
    .option(
      '--duration <time>',
      'how long: 500ms, 10s, 2m; 3s unless given, and up to 10s while there are few samples',
    )
    .option('--top <n>', 'how many', count, 10)
    .addOption(
      new Option(
        '--sampler <who>',
        'stacks, dumps of threads, unless given; jfr, the flight recorder; cpu, the same by CPU time',
      ).choices(SAMPLERS),
    )
    .option('--json', 'as JSON')
    .action(async (pid: string | undefined, flags: RootsFlags) => {
      const { roots } = await import('./roots.ts')
      await roots(pid, flags, (text) => process.stdout.write(text))
    })

  const attach = withSessionFlags(
    program
      .command('attach')
      .description('show the calling context tree of a root method, live')
      .argument('[pid]', PID_HELP),
  )
  withJdwpFlag(attach)
    .option('--all <pattern>', ALL_HELP)
    .option('--wait-for <pattern>', WAIT_HELP)
    .option('--wait-timeout <time>', 'how long to wait for it: 30s, 2m; without end unless given')
    .option('--out <file>', 'write the profile there when leaving')
    .option('--autosave <time>', AUTOSAVE_HELP)
    .action(async (pid: string | undefined, flags: AttachFlags) => {
      const { attach } = await import('./attach.ts')
      await attach(pid, flags)
    })

  const record = withSessionFlags(
    program
      .command('record')
      .description('profile for a while without a screen, and write or push the profile')
      .argument('[pid]', PID_HELP),
  )
    .option('--all <pattern>', ALL_HELP)
    .option('--wait-for <pattern>', WAIT_HELP)
    .option('--wait-timeout <time>', 'how long to wait for it: 30s, 2m; without end unless given')
    .option('--out <file>', 'where to write the profile')
    .option(
      '--push <url>',
      'hand the profile to a store: a Pyroscope, http://host:4040; or by OTLP (experimental), otlp+http://host:4318',
    )
  withPushFlags(withJdwpFlag(record))
    .option('--duration <time>', 'how long: 500ms, 10s, 2m', '10s')
    .option('--stream', 'tell on the standard output what is recorded, as it comes: one JSON object a line')
    .option('--autosave <time>', AUTOSAVE_HELP)
    .action(async (pid: string | undefined, flags: RecordFlags) => {
      const { record } = await import('./record.ts')
      await record(pid, flags)
    })

  program
    .command('proxy')
    .description('let jfluid on another machine attach to JVMs of this one')
    .option('--stdio', 'for one client, by the ssh connection that has started it')
    .option(
      '--listen <address>',
      'for clients that have its key, by TLS: a port, of the loopback interface; or address:port',
    )
    .option(
      '--key-file <file>',
      'with --listen, the file of the key, made if there is none; otherwise it is shown once',
    )
    .option('--grace <time>', 'how long a session waits for a client whose connection was lost', '60s')
    .addOption(new Option('--session <name>').hideHelp())
    .action(async (flags: ProxyFlags) => {
      const { proxy } = await import('./proxy.ts')
      await proxy(flags)
    })

  program
    .command('detach')
    .description('end a session whose jfluid hangs or is stopped, and remove what dead ones have left')
    .argument('[pid]', PID_HELP)
    .option('--force', 'also if that jfluid lives: its recording ends, and is kept as far as it came')
    .option('--json', 'as JSON')
    .action(async (pid: string | undefined, flags: DetachFlags) => {
      const { detach } = await import('./detach.ts')
      await detach(pid, flags, (text) => process.stdout.write(text))
    })

  withSessionFlags(
    program
      .command('run')
      .description('start a JVM and profile it from its first application class on')
      .argument('<command...>', 'what to start, after --'),
  )
    .option('--record <file>', 'no screen: profile until the program ends, then write the profile')
    .option('--autosave <time>', AUTOSAVE_HELP)
    .option('--output <file>', "where the program's output goes while the screen is in use")
    .passThroughOptions()
    .action(async (command: string[], flags: RunFlags) => {
      const { run } = await import('./run.ts')
      const { keepStatus } = await import('./signals.ts')
      try {
        process.exitCode = await run(command, flags)
      } finally {
        keepStatus() // not in `run`: the gate goes on after it
      }
    })

  program
    .command('gate')
    .description('fail if a task executes more than its baseline: for continuous integration')
    .argument('<baseline>', 'a .jfluid file of --mode bytecodes or count')
    .argument('[other...]', 'another .jfluid file; or after --, what to run and profile as the baseline was')
    .option('--tolerance <percent>', 'how much more one call of the root may cost', percentage, 0)
    .option('--json', 'as JSON')
    .action(async (baseline: string, other: string[], flags: GateFlags) => {
      const { gate } = await import('./gate.ts')
      await gate(baseline, other, flags, (text) => process.stdout.write(text))
    })

  program
    .command('open')
    .description('look at a recorded profile in the live view')
    .argument('<file>', 'a .jfluid file')
    .action(async (file: string) => {
      const { open } = await import('./open.ts')
      await open(file)
    })

  program
    .command('compare')
    .description('what has changed between two profiles, per root call')
    .argument('<before>', 'a .jfluid file')
    .argument('<after>', 'another one of the same --mode')
    .option('--top <n>', 'how many methods, and how many contexts, in each direction', count, 10)
    .option(
      '--fail-if <condition>',
      "end with 82 if it holds: 'Foo.bar self > +10%', 'root total > 5ms'; repeatable",
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option('--html <file>', 'write a page for a browser, too, with a differential flame graph')
    .option('--shape', 'only how much their trees agree, also of different modes')
    .option('--no-call-sites', 'do not tell calls of a method from different places apart')
    .option('--json', 'as JSON')
    .action(async (before: string, after: string, flags: CompareFlags) => {
      const { compare } = await import('./compare.ts')
      await compare(before, after, flags)
    })

  program
    .command('report')
    .description('what a recorded profile says')
    .argument('<file>', 'a .jfluid file')
    .option('--top <n>', 'how many hot methods', count, 20)
    .option('--threads', 'a tree for each thread, too')
    .option(
      '--back-traces <method>',
      'in place of the tree, who calls this method, and who calls those; repeatable',
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option('--trace <call>', 'of a profile with --trace: this call only, and more of it', count)
    .option('--json', 'as JSON')
    .action(async (file: string, flags: ReportFlags) => {
      const { report } = await import('./report.ts')
      await report(file, flags)
    })

  program
    .command('export')
    .description('write a recorded profile for other tools')
    .argument('<file>', 'a .jfluid file')
    .option('--format <name>', `${FORMAT_NAMES.join(', ')}; otherwise that of the extension of --out`)
    .option('--out <file>', 'where to write it; the output otherwise')
    .option('--threads', 'a tree for each thread, instead of all threads together')
    .action(async (file: string, flags: ExportFlags) => {
      const { exportCommand } = await import('./export.ts')
      await exportCommand(file, flags)
    })

  withPushFlags(
    program
      .command('push')
      .description('hand a recorded profile to a store of profiles')
      .argument('<file>', 'a .jfluid file')
      .requiredOption(
        '--to <url>',
        'a Pyroscope, http://host:4040; or by OTLP (experimental), otlp+http://host:4318',
      ),
  ).action(async (file: string, flags: PushCommandFlags) => {
    const { pushCommand } = await import('./push.ts')
    await pushCommand(file, flags)
  })

  program
    .command('agent-path')
    .description('print the option that has a JVM start with the agent asleep in it')
    .addHelpText(
      'after',
      `
It is all that goes to the standard output, for scripts. A JVM that is started
with it has no thread of jfluid and no session; attach and record then wake the
agent and load nothing, so -XX:-EnableDynamicAgentLoading does not matter, and
newer JDKs do not warn. A JVM that does not find the file, or may not read it,
does not start: mind what happens to it.

On a command line before -jar, or for all JVMs in JAVA_TOOL_OPTIONS: an
Environment= line of a systemd unit, an ENV line of an image.`,
    )
    .action(async () => {
      const { agentPath } = await import('./agent-path.ts')
      agentPath((text) => process.stdout.write(text))
    })

  program
    .command('completion')
    .description('print what makes a shell complete commands, options and process ids')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action(async (shell: Shell) => {
      const { completion } = await import('./shell/commands.ts')
      completion(shell, (text) => process.stdout.write(text))
    })

  program
    .command('man')
    .description('print the manual page')
    .action(async () => {
      const { man } = await import('./shell/commands.ts')
      man(program, version, (text) => process.stdout.write(text))
    })

  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(async (words: string[]) => {
      const { completeWords } = await import('./shell/commands.ts')
      await completeWords(program, words, (text) => process.stdout.write(text))
    })

  for (const command of program.commands)
    command.addHelpText('after', exampleText(EXAMPLES[command.name()] ?? []))
  return program
}
