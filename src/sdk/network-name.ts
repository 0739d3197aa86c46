/** A host as people name it. Pure. */

/** `registry.npmjs.org` means what a browser would mean by it. */
export function withDefaultPort(name: string): string {
  return name === 'any' || /:\d+$/.test(name) ? name : `${name}:443`;
}
