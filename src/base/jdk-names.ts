/** All packages of the JDK's runtime images, including SAX, DOM and other packages outside java.*. */
const OF_JDK =
  /^(?:java|javax|jdk|sun|com[./]sun|netscape[./]javascript|org[./](?:ietf[./]jgss|jcp[./]xml|w3c[./]dom|xml[./]sax))[./]/

/** Returns whether a class or a class pattern has the name of a JDK class, with dots or slashes. */
export function isJdkName(name: string): boolean {
  return OF_JDK.test(name)
}
