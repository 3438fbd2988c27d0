// Default names of files.

/** File name for a session. */
export function nameNow(pid: number, extension: string): string {
  return `jfluid-${pid}-${clockTime(new Date())}${extension}`
}

/** Local time, such as "20261123-042310". */
function clockTime(time: Date): string {
  const two = (number: number): string => `${number}`.padStart(2, '0')
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`
  return `${day}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`
}
