/** Names that the walker gives entries of its own beside a place of the person's (native/tree: replace.c, beside.c). */
const temporary = /(^|\/)\.ctx-[0-9a-f]{16}\.(new|old)(\/|$)/;
const made = /(^|\/)\.ctx-[0-9a-f]{16}\.new(\/|$)/;

/** A name that it would overwrite. */
export const isTemporaryName = (path: string): boolean => path.includes('.ctx-') && temporary.test(path);

/** What it was making when it was killed: never anything of the person's. */
export const isHalfMade = (path: string): boolean => path.includes('.ctx-') && made.test(path);
