/** The house as text: its floors from the top down, and on each who imports whom, from the imports themselves. Pure. */
import { floors, importsBetween } from './rules.mjs';

const rows = (names, imports) =>
  names.map((name) => ({ name, below: [...(imports.get(name) ?? [])].filter((each) => each !== name).sort() }));

function lines(heading, all) {
  const width = Math.max(...all.flatMap((group) => group.map(({ name }) => name.length)));
  return all.flatMap((group, index) =>
    group.map(({ name, below }, row) => {
      const floor =
        row === 0 ? `${heading}${String(all.length - 1 - index).padStart(2)}` : ' '.repeat(heading.length + 2);
      return `${floor}  ${name.padEnd(width)}  ${below.length === 0 ? '' : `-> ${below.join(' ')}`}`.trimEnd();
    }),
  );
}

/** `files`: path below `src/` -> source. */
export function pictureOf(files) {
  const { folders, rooms } = floors();
  const { betweenFolders, betweenRooms } = importsBetween(files);
  const house = lines(
    'floor ',
    folders
      .map((names) => names.filter((name) => [...files.keys()].some((path) => path.startsWith(`${name}/`))))
      .map((names) => rows(names, betweenFolders))
      .reverse(),
  );
  const inside = Object.entries(rooms).flatMap(([folder, order]) => [
    '',
    `${folder}/`,
    ...lines('  room ', order.map((names) => rows(names, betweenRooms.get(folder) ?? new Map())).reverse()),
  ]);
  return [...house, ...inside].map((line) => `${line}\n`).join('');
}

export const pictureStart = '<!-- node scripts/check-layers.mjs --picture writes what follows -->\n\n```\n';
export const pictureEnd = '```\n\n<!-- until here -->\n';

/** The text of the document with the picture in its place; undefined where it has no place for one. */
export function withPicture(document, picture) {
  const start = document.indexOf(pictureStart);
  const end = document.indexOf(pictureEnd, start);
  if (start < 0 || end < 0) return undefined;
  return `${document.slice(0, start)}${pictureStart}${picture}${document.slice(end)}`;
}
