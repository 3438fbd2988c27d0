// The screen of a terminal emulator as SVG: one `text` element per row, one `tspan` per run of cells with the same style.

const CELL_WIDTH = 8.4
const CELL_HEIGHT = 18
const FONT_SIZE = 14
const MARGIN = 12
const FOREGROUND = '#d4d7dd'
const BACKGROUND = '#16181d'

/** The first 16 colours. The other colours of the palette are a cube of 6 × 6 × 6 colours and 24 greys (xterm's 256 colours). */
const BASE_COLORS = [
  ...['#16181d', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#abb2bf'],
  ...['#7f8794', '#f0868f', '#b5e08f', '#f5d48f', '#82c4ff', '#dc9bf0', '#7cd5e0', '#ffffff'],
]
const CUBE_LEVELS = [0, 95, 135, 175, 215, 255]

/** @param color  index into the 256 colours */
function paletteColor(color) {
  if (color < 16) return BASE_COLORS[color]
  if (color >= 232) return rgb(Array(3).fill(8 + 10 * (color - 232)))
  const at = color - 16
  return rgb([Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map((level) => CUBE_LEVELS[level]))
}

const rgb = (levels) => `#${levels.map((level) => level.toString(16).padStart(2, '0')).join('')}`
const rgbColor = (color) => `#${color.toString(16).padStart(6, '0')}`

/** Returns the colours and the weight of a cell. An inverse cell has its colours exchanged. */
function styleOf(cell) {
  const fore = cell.isFgDefault() ? FOREGROUND : colorOf(cell.isFgRGB(), cell.getFgColor())
  const back = cell.isBgDefault() ? BACKGROUND : colorOf(cell.isBgRGB(), cell.getBgColor())
  const [fill, behind] = cell.isInverse() ? [back, fore] : [fore, back]
  return { fill, behind, isBold: cell.isBold() !== 0, isDim: cell.isDim() !== 0 }
}

function colorOf(isRgb, color) {
  return isRgb ? rgbColor(color) : paletteColor(color)
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Returns the runs of cells with the same style in a row: text, first column, number of columns, style. */
function runsOf(line, columns) {
  const runs = []
  for (let column = 0; column < columns; column++) {
    const cell = line.getCell(column)
    if (cell.getWidth() === 0) continue
    const style = styleOf(cell)
    const key = JSON.stringify(style)
    const last = runs.at(-1)
    if (last?.key === key) {
      last.text += cell.getChars() || ' '
      last.columns += cell.getWidth()
    } else {
      runs.push({ key, style, text: cell.getChars() || ' ', column, columns: cell.getWidth() })
    }
  }
  return runs
}

/**
 * Returns the visible screen as an SVG document.
 * @param terminal  a terminal of `@xterm/headless`
 */
export function screenSvg(terminal) {
  const { cols, rows } = terminal
  const width = Math.ceil(cols * CELL_WIDTH + 2 * MARGIN)
  const height = rows * CELL_HEIGHT + 2 * MARGIN
  const { active } = terminal.buffer
  const lines = []
  for (let row = 0; row < rows; row++) {
    const y = MARGIN + row * CELL_HEIGHT
    const runs = runsOf(active.getLine(active.baseY + row), cols)
    for (const { style, column, columns } of runs) {
      if (style.behind === BACKGROUND) continue
      lines.push(
        `<rect x="${x(column)}" y="${y}" width="${(columns * CELL_WIDTH).toFixed(1)}" height="${CELL_HEIGHT}" fill="${style.behind}"/>`,
      )
    }
    const spans = runs
      .filter(({ text }) => text.trim() !== '')
      .map(({ style, text, column, columns }) => {
        const weight = style.isBold ? ' font-weight="bold"' : ''
        const opacity = style.isDim ? ' opacity="0.6"' : ''
        const length = (columns * CELL_WIDTH).toFixed(1)
        return `<tspan x="${x(column)}" textLength="${length}" fill="${style.fill}"${weight}${opacity}>${escaped(text)}</tspan>`
      })
    if (spans.length > 0) lines.push(`<text y="${y + FONT_SIZE}">${spans.join('')}</text>`)
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>The live view of jfluid</title>
<rect width="${width}" height="${height}" rx="8" fill="${BACKGROUND}"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${FONT_SIZE}" xml:space="preserve">
${lines.join('\n')}
</g>
</svg>
`
}

const x = (column) => (MARGIN + column * CELL_WIDTH).toFixed(1)
