/** Objects of a repository, which an undo leaves where they are. Pure. */

/** More than one commit may need them by now, and nothing is shown or run by their being there. */
export const isObject = (path: string) =>
  path.includes('objects/') &&
  /(?:^|\/)objects\/(?:[0-9a-f]{2}\/[0-9a-f]{38,62}|pack\/pack-[0-9a-f]{40,64}\.(?:pack|idx|rev))$/.test(path);
