// The tables of jfluid, compared with those that each JDK generated from its jdwp.spec for its own debugger (com.sun.tools.jdi.JDWP).

import { beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS, COMPOSITE, EVENT_SET, SINCE } from '../../src/jdwp-client/commands.ts'
import * as our from '../../src/jdwp-client/constants.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { debuggeeClasses } from './debuggee.ts'

const ourCommands = Object.entries(COMMANDS).flatMap(([name, { set, commands }]) =>
  Object.entries(commands).map(([command, number]) => `${name}.${command} ${set}/${number}`),
)
const constants = (set: string, table: Readonly<Record<string, number>>): string[] =>
  Object.entries(table).map(([name, code]) => `${set} ${name} ${code}`)

/** Names of the specification that are never sent; constants.ts has the reasons. */
const NOT_OURS = [
  ...['Error NONE 0', 'EventKind FRAME_POP 3', 'EventKind USER_DEFINED 5', 'EventKind THREAD_END 7'],
  ...['EventKind CLASS_LOAD 10', 'EventKind EXCEPTION_CATCH 30', 'EventKind VM_INIT 90'],
  'EventKind VM_DISCONNECTED 100',
]

const OURS = [
  ...[...ourCommands, `Event.Composite ${EVENT_SET}/${COMPOSITE}`],
  ...constants('Error', our.ERRORS),
  ...constants('EventKind', our.EVENT_KINDS),
  ...constants('Tag', our.TAGS),
  ...constants('TypeTag', our.TYPE_TAGS),
  ...constants('ThreadStatus', our.THREAD_STATUSES),
  ...constants('StepDepth', our.STEP_DEPTHS),
  ...constants('StepSize', our.STEP_SIZES),
  ...constants('SuspendPolicy', our.SUSPEND_POLICIES),
  ...constants('Modifier', our.MODIFIERS),
  `SuspendStatus SUSPEND_STATUS_SUSPENDED ${our.SUSPEND_STATUS_SUSPENDED}`,
  `ClassStatus VERIFIED ${our.STATUS_VERIFIED}`,
  `ClassStatus PREPARED ${our.STATUS_PREPARED}`,
  `ClassStatus INITIALIZED ${our.STATUS_INITIALIZED}`,
  `ClassStatus ERROR ${our.STATUS_ERROR}`,
  `InvokeOptions INVOKE_SINGLE_THREADED ${our.INVOKE_SINGLE_THREADED}`,
  `InvokeOptions INVOKE_NONVIRTUAL ${our.INVOKE_NONVIRTUAL}`,
  ...NOT_OURS,
]

/** Commands that an older JDK lacks, as listed in SINCE. */
const NEWER = new Map(
  OURS.flatMap((line) => {
    const [first, name] = line.split(' ')
    const since = SINCE[first === 'Modifier' ? `EventRequest.Set ${name}` : first!]
    return since === undefined ? [] : [[line, since] as const]
  }),
)

forEachJdk((jdk) => {
  describe('the JDWP specification of a JDK', () => {
    let theirs: string[]
    beforeAll(async () => {
      const java = startJava(jdk, [
        ...[
          '--add-opens',
          'jdk.jdi/com.sun.tools.jdi=ALL-UNNAMED',
          '-cp',
          await debuggeeClasses(),
          'dbg.Constants',
        ],
      ])
      expect((await java.exit).code, java.stderr()).toBe(0)
      theirs = java.stdout().trim().split('\n')
    })

    it("the JDK's specification has all commands of the client except commands of newer JDKs", () => {
      const missing = OURS.filter((line) => !theirs.includes(line))
      expect(missing.sort()).toEqual(
        [...NEWER].flatMap(([line, since]) => (since > jdk.version ? [line] : [])).sort(),
      )
    })

    it("the client has all commands of the JDK's specification", () => {
      expect(theirs.length).toBeGreaterThan(200)
      expect(theirs.filter((line) => !OURS.includes(line))).toEqual([])
    })
  })
})

it('the specification of JDK 17 has all commands of the client except two', () => {
  expect([...NEWER.keys()]).toEqual(['ThreadReference.IsVirtual 11/15', 'Modifier PlatformThreadsOnly 13'])
})
