// What files are called that their users have given no name.

/** Of a session. */
export function nameNow(pid: number, extension: string): string {
  return `jfluid-${pid}-${clockTime(new Date())}${extension}`
}

/** "20261123-042310", by the user's clock. */
function clockTime(time: Date): string {
  const two = (number: number): string => `${number}`.padStart(2, '0')
  const day = `${time.getFullYear()}${two(time.getMonth() + 1)}${two(time.getDate())}`
  return `${day}-${two(time.getHours())}${two(time.getMinutes())}${two(time.getSeconds())}`
}
