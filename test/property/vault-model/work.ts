/** What a shell may do in a fork or in the person's directory: a line, and what the map is after it. Pure. */
import { type Entry, isAtOrBelow, type Model, parentOf, sensitiveName } from './model.js';

export interface Choice {
  readonly kind: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export interface Work {
  readonly line: string;
  readonly model: Model;
}

/** Few names, so that everybody meets everybody: files, directories and links of one name, three levels deep. */
const names = ['x', 'y', sensitiveName];
const tops = ['a', 'b'];
const second = tops.flatMap((top) => names.map((name) => `${top}/${name}`));
const everywhere = [...tops, ...second, ...second.flatMap((path) => names.map((name) => `${path}/${name}`))];
const modes = [0o700, 0o755, 0o750];

/** One thing that is done; nothing where it makes no sense. */
export function work(model: Model, { kind, a, b, c }: Choice): Work | undefined {
  const pick = (list: readonly string[], by: number) => list[by % Math.max(1, list.length)];
  const canHold = everywhere.filter((path) => parentOf(path) === '' || model.get(parentOf(path))?.type === 'd');
  const place = pick(canHold, a) ?? 'a';
  const free = pick(
    canHold.filter((path) => !model.has(path)),
    b,
  );
  const any = pick([...model.keys()].sort(), a);
  const entry = any === undefined ? undefined : model.get(any);
  const text = String(c % 5);
  const file: Entry = { type: 'f', mode: 0o644, text, linked: false };
  const directory: Entry = { type: 'd', mode: 0o755 };
  const next = new Map(model);
  const put = (path: string, made: Entry, line: string): Work => ({ line, model: next.set(path, made) });
  const gone = (path: string) => {
    for (const each of [...next.keys()]) if (isAtOrBelow(each, path)) next.delete(each);
  };
  const move = (from: string, to: string): Work => {
    const moved = [...model].filter(([path]) => isAtOrBelow(path, from));
    gone(to);
    gone(from);
    for (const [path, each] of moved) next.set(`${to}${path.slice(from.length)}`, each);
    return { line: `mv -T ${from} ${to}`, model: next };
  };
  switch (kind % 16) {
    case 0:
    case 1:
      if (model.get(place)?.type === 'd') return undefined;
      return put(place, file, `rm -f ${place}; echo ${text} > ${place}`);
    case 2:
      if (any === undefined || entry?.type !== 'f' || entry.linked) return undefined;
      return put(any, { ...entry, text }, `echo ${text} > ${any}`);
    case 3:
      return free === undefined ? undefined : put(free, directory, `mkdir ${free}`);
    case 4:
      if (any === undefined) return undefined;
      gone(any);
      return { line: `rm -rf ${any}`, model: next };
    case 5: {
      if (any === undefined || entry === undefined || entry.type === 'l') return undefined;
      if (entry.type === 'f' && entry.linked) return undefined;
      const mode = modes[c % modes.length] ?? 0o700;
      return put(any, { ...entry, mode }, `chmod ${mode.toString(8)} ${any}`);
    }
    case 6:
      if (model.get(place)?.type === 'd') return undefined;
      return put(place, { type: 'l', to: `to-${text}` }, `ln -sfn to-${text} ${place}`);
    case 7:
      if (any === undefined || free === undefined || isAtOrBelow(free, any)) return undefined;
      return move(any, free);
    case 8:
      if (any === undefined || free === undefined || entry?.type !== 'f') return undefined;
      next.set(any, { ...entry, linked: true });
      return put(free, { ...entry, linked: true }, `ln ${any} ${free}`);
    case 9: {
      // In an overlay this is an opaque directory.
      if (any === undefined || entry?.type !== 'd') return undefined;
      gone(any);
      next.set(any, directory);
      const inside = `${any}/${names[c % 2]}`;
      if (!everywhere.includes(inside)) return { line: `rm -rf ${any}; mkdir ${any}`, model: next };
      return put(inside, file, `rm -rf ${any}; mkdir ${any}; echo ${text} > ${inside}`);
    }
    case 10:
      if (any === undefined || entry?.type !== 'f' || entry.linked) return undefined;
      return { line: `touch ${any}; cp -p ${any} ${any}.same; mv ${any}.same ${any}`, model: next };
    case 11:
      // A change of type, whatever it was.
      if (any === undefined || entry === undefined) return undefined;
      gone(any);
      if (entry.type !== 'd') return put(any, directory, `rm -f ${any}; mkdir ${any}`);
      if (c % 2 === 0) return put(any, file, `rm -rf ${any}; echo ${text} > ${any}`);
      return put(any, { type: 'l', to: `to-${text}` }, `rm -rf ${any}; ln -s to-${text} ${any}`);
    case 12: {
      if (free === undefined) return undefined;
      next.set(free, directory);
      const inside = names.map((name) => `${free}/${name}`).filter((path) => everywhere.includes(path));
      for (const path of inside) next.set(path, file);
      const writes = inside.map((path) => `echo ${text} > ${path}`);
      return { line: [`mkdir ${free}`, ...writes].join('; '), model: next };
    }
    case 13:
      return free === undefined ? undefined : put(free, { type: 'p', mode: 0o644 }, `mkfifo ${free}`);
    case 14: {
      // Over what is there: an empty directory gives way to a directory, anything else to anything else.
      const onto = pick([...model.keys()].sort(), b);
      const target = onto === undefined ? undefined : model.get(onto);
      if (any === undefined || onto === undefined || entry === undefined || target === undefined) return undefined;
      const isEmpty = ![...model.keys()].some((path) => path.startsWith(`${onto}/`));
      const fits = entry.type === 'd' ? target.type === 'd' && isEmpty : target.type !== 'd';
      const links = [entry, target].some((each) => each.type === 'f' && each.linked);
      return !fits || links || isAtOrBelow(onto, any) || isAtOrBelow(any, onto) ? undefined : move(any, onto);
    }
    default: {
      if (any === undefined || entry?.type !== 'd') return undefined;
      for (const [path, each] of model) {
        if (!isAtOrBelow(path, any) || each.type === 'l' || (each.type === 'f' && each.linked)) continue;
        next.set(path, { ...each, mode: 0o755 });
      }
      const kept = [...model].filter(([path, each]) => isAtOrBelow(path, any) && each.type === 'f' && each.linked);
      return kept.length > 0 ? undefined : { line: `chmod -R 755 ${any}`, model: next };
    }
  }
}
