// Formats the page's numbers. A negative time is within the calibration error, and shown as "~0".

import { data } from './data.js'

/** @param {number} value */
function digits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** @type {readonly (readonly [number, string])[]} */
const TIMES = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
]

/** @type {readonly (readonly [number, string])[]} */
const BYTES = [
  [1e9, 'GB'],
  [1e6, 'MB'],
  [1e3, 'kB'],
]

/**
 * @param {number} value
 * @param {readonly (readonly [number, string])[]} units
 * @param {string} least
 */
function withUnit(value, units, least) {
  const [size, unit] = units.find(([size]) => value >= size * 0.9995) ?? [1, least]
  return `${value === 0 ? '0' : digits(value / size)} ${unit}`
}

/**
 * Formats a number with thousands separators. A number below 100 keeps three significant digits.
 *
 * @param {number} value
 */
export function countText(value) {
  if (!Number.isFinite(value)) return '–'
  if (Number.isInteger(value) || value >= 100) return Math.round(value).toLocaleString('en')
  return value < 0.001 && value > 0 ? '<0.001' : `${Number(value.toPrecision(3))}`
}

/** @param {number} value  cost in the page's unit */
export function costText(value) {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (value < 0) return '~0'
  switch (data.metric) {
    case 'time':
    case 'waits':
      return withUnit(size, TIMES, 'ns')
    case 'bytes':
      return withUnit(size, BYTES, 'B')
    case 'samples':
      return data.isComparison ? `${digits(size * 100)} %` : countText(size)
    default:
      return countText(size)
  }
}

/** @param {number} value  a difference of costs */
export function changeText(value) {
  if (value === 0 || !Number.isFinite(value)) return value === 0 ? '0' : '–'
  return `${value > 0 ? '+' : '−'}${costText(Math.abs(value))}`
}

/**
 * @param {number} part
 * @param {number} whole
 */
export function percentText(part, whole) {
  if (!(whole > 0)) return '–'
  const share = (100 * part) / whole
  return share < 0 ? '~0 %' : `${share.toFixed(1)} %`
}

/**
 * @param {number} before
 * @param {number} after
 */
export function growthText(before, after) {
  const [one, other] = [Math.max(0, before), Math.max(0, after)]
  if (one === 0) return other === 0 ? '' : 'new'
  if (other === 0) return 'gone'
  const part = (100 * (other - one)) / one
  return part >= 900
    ? `× ${countText(other / one)}`
    : `${part > 0 ? '+' : part < 0 ? '−' : ''}${Math.abs(part).toFixed(1)} %`
}
