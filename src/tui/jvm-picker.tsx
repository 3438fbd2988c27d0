// A picker of JVMs in the scrollback, drawn by ink. Imported only where it is shown: that takes most of a second.

import { Box, render, Text, useApp, useInput, useStdout } from 'ink'
import { type JSX, useEffect, useState } from 'react'
import { JvmList, type JvmRow, jvmLines } from './jvm-list.ts'

/** What each second may change: JVMs come and go, and processors are busy. */
const LOOK_MS = 1000
/** Rows at most, so that the scrollback stays in sight. */
const MOST_ROWS = 12
/** Below and above the rows: what to do, the head, the line that is typed, a word on the selected one. */
const OTHER_LINES = 5

export interface PickedJvm {
  /** Null if the user left without one. */
  readonly pid: number | null
}

/**
 * Asks for a JVM until there is an answer; the terminal is as before then.
 *
 * @param look  the JVMs there are now
 */
export async function pickJvm(look: () => readonly JvmRow[]): Promise<PickedJvm> {
  let pid: number | null = null
  const app = render(
    <Picker
      look={look}
      onPick={(picked) => {
        pid = picked
      }}
    />,
    { exitOnCtrlC: false, patchConsole: false },
  )
  await app.waitUntilExit()
  // Ink has let go of it. The live view may read it next; who does not must not be kept waiting by it.
  process.stdin.pause()
  process.stdin.ref()
  return { pid }
}

interface PickerProps {
  readonly look: () => readonly JvmRow[]
  readonly onPick: (pid: number) => void
}

function Picker({ look, onPick }: PickerProps): JSX.Element {
  const { exit } = useApp()
  const { stdout } = useStdout()
  const [list] = useState(() => {
    const made = new JvmList()
    made.rows = look()
    return made
  })
  const [notice, setNotice] = useState('')
  const [isOver, end] = useState(false)
  const [, draw] = useState(0)

  useEffect(() => {
    const timer = setInterval(() => {
      list.rows = look()
      draw((it) => it + 1)
    }, LOOK_MS)
    const redraw = (): void => draw((it) => it + 1)
    stdout.on('resize', redraw)
    return () => {
      clearInterval(timer)
      stdout.off('resize', redraw)
    }
  }, [list, look, stdout])

  // Not before an empty picture has taken the list off the screen.
  useEffect(() => {
    if (isOver) exit()
  }, [isOver, exit])

  const take = (): void => {
    const { selected } = list
    if (selected?.attachable === true) {
      onPick(selected.pid)
      end(true)
    } else if (selected !== undefined) setNotice(`cannot attach to ${selected.pid}: ${selected.attachable}`)
  }

  useInput((input, key) => {
    setNotice('')
    if (key.escape || (key.ctrl && (input === 'c' || input === 'd'))) end(true)
    else if (key.return) take()
    else if (key.upArrow) list.move(-1)
    else if (key.downArrow || key.tab) list.move(1)
    else if (key.pageUp) list.move(-MOST_ROWS)
    else if (key.pageDown) list.move(MOST_ROWS)
    else if (key.backspace || key.delete) list.erase()
    else if (key.ctrl && input === 'u') list.clear()
    else if (input !== '' && !key.ctrl && !key.meta) {
      const wish = list.typeAll(input)
      if (wish === 'take') take()
      else if (wish === 'leave') end(true)
    }
    draw((it) => it + 1)
  })

  if (isOver) return <Box />
  const columns = stdout.columns || 80
  const room = Math.max(1, Math.min(MOST_ROWS, (stdout.rows || 24) - OTHER_LINES - 1))
  const { head, rows } = jvmLines(list, columns, room)
  const more = list.fitting.length - rows.length
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">
        <Text bold>Which JVM? </Text>
        <Text>{list.typed}</Text>
        <Text inverse> </Text>
      </Text>
      <Text underline wrap="truncate">
        {`  ${head}`}
      </Text>
      {rows.map(({ text, isAttachable, isSelected }) => (
        <Text key={text} inverse={isSelected} dimColor={!isAttachable} wrap="truncate">
          {`${isSelected ? '> ' : '  '}${text}`}
        </Text>
      ))}
      {rows.length === 0 && (
        <Text wrap="truncate">
          {list.all === 0 ? '  no JVM is running; checking every second' : '  no JVM matches'}
        </Text>
      )}
      <Text dimColor wrap="truncate">
        {notice !== ''
          ? `  ${notice}`
          : `  ${more > 0 ? `${more} more. ` : ''}Type to filter, Enter attaches, Esc quits`}
      </Text>
    </Box>
  )
}
