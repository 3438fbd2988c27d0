/** Matches names in any package of the JDK's runtime images, including SAX, DOM and other packages outside java.*. */
const OF_JDK =
  /^(?:java|javax|jdk|sun|com[./]sun|netscape[./]javascript|org[./](?:ietf[./]jgss|jcp[./]xml|w3c[./]dom|xml[./]sax))[./]/

/** Returns whether a class name or class pattern, with dots or slashes, is in a package of the JDK. */
export function isJdkName(name: string): boolean {
  return OF_JDK.test(name)
}
