// Default names of files.

/** Returns a file name that contains the process id and the current time. */
export function nameNow(pid: number, extension: string): string {
  return `jfluid-${pid}-${clockTime(new Date())}${extension}`
}

/** Returns the local time, such as "20261123-042310". */
function clockTime(time: Date): string {
  const two = (number: number): string => `${number}`.padStart(2, '0')
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`
  return `${day}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`
}
