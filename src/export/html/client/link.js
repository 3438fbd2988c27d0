// Links to a row of the page. The fragment of a link has these parts, in any order:
//
//   tab=slow     the tab
//   tree=2       index of the tree that is shown; absent for the first
//   at=1f.3      position of the row in the tab, numbers in base 36; absent for the tab as a whole
//   range=5-20.5 the time range, in seconds since the start of the recording; absent for the whole recording
//   page=1a2b…   id of the page, since positions of rows differ between pages

/**
 * @typedef {object} PageLink
 * @property {string} tab
 * @property {number} tree
 * @property {readonly number[]} at
 * @property {readonly [fromMs: number, toMs: number] | undefined} range
 * @property {string} page
 */

/** @param {PageLink} link */
export function linkText({ tab, tree, at, range, page }) {
  const parts = [`tab=${tab}`]
  if (tree > 0) parts.push(`tree=${tree}`)
  if (at.length > 0) parts.push(positionText(at))
  if (range !== undefined) parts.push(`range=${range.map((ms) => Number((ms / 1000).toFixed(3))).join('-')}`)
  parts.push(`page=${page}`)
  return `#${parts.join('&')}`
}

/** @param {readonly number[]} at */
export function positionText(at) {
  return `at=${at.map((it) => it.toString(36)).join('.')}`
}

/** Number of letters of an unknown part that are shown. */
const SHOWN_PART = 40

/**
 * Reads the fragment of a link. Absent parts have default values.
 *
 * @param {string} fragment
 * @returns {PageLink & { unknown: string[] }}  `unknown`: parts that are not parts of a link
 */
export function readLink(fragment) {
  /** @type {PageLink & { unknown: string[] }} */
  const link = { tab: '', tree: 0, at: [], range: undefined, page: '', unknown: [] }
  for (const part of fragment.replace(/^#/, '').split('&')) {
    const [, name, value] = /^(\w+)=([0-9a-z.-]+)$/.exec(part) ?? ['', '', '']
    const range = /^(\d{1,9}(?:\.\d{1,3})?)-(\d{1,9}(?:\.\d{1,3})?)$/.exec(value)
    if (name === 'range' && range !== null) link.range = [1000 * Number(range[1]), 1000 * Number(range[2])]
    else if (name === 'tab') link.tab = value
    else if (name === 'page') link.page = value
    else if (name === 'tree' && /^\d{1,6}$/.test(value)) link.tree = Number(value)
    else if (name === 'at' && value.split('.').every((it) => /^[0-9a-z]{1,9}$/.test(it)))
      link.at = value.split('.').map((it) => Number.parseInt(it, 36))
    else if (part !== '') link.unknown.push(part.slice(0, SHOWN_PART))
  }
  return link
}
