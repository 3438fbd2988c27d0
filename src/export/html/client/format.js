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

/** @param {number} ns */
export function timeText(ns) {
  if (!Number.isFinite(ns)) return '–'
  return ns < 0 ? '~0' : withUnit(ns, TIMES, 'ns')
}

/** @param {number} value  100 is the whole */
export function shareText(value) {
  return percentText(value, 100)
}

/**
 * Formats a time since the start of the recording: "12 s", "1:07", "1:02:03".
 *
 * @param {number} seconds
 */
export function clockText(seconds) {
  const two = /** @param {number} value */ (value) => String(value).padStart(2, '0')
  const whole = Math.round(seconds)
  if (whole < 60) return `${Number(seconds.toFixed(2))} s`
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/**
 * Formats a time in seconds with at most two decimals: "5 s", "3.1 s", "120 s".
 *
 * @param {number} ms
 */
export function secondsText(ms) {
  return `${Number((ms / 1000).toFixed(2))} s`
}

/** @param {number} value  cost in the page's unit */
export function costText(value) {
  if (!Number.isFinite(value)) return '–'
  if (value < 0) return '~0'
  switch (data.metric) {
    case 'time':
    case 'waits':
      return timeText(value)
    case 'bytes':
      return withUnit(value, BYTES, 'B')
    case 'samples':
      return data.isComparison ? `${digits(value * 100)} %` : countText(value)
    default:
      return countText(value)
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
