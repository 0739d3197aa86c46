/**
 * The objects of a user with those of the machine under them: where both have a name in `agent`, `tool`, `model` or `shared`, the user's counts. The
 * control files are those beside what was found. Users' own tiers are the first's alone. Pure.
 */
import { type Catalogue, kindOf, type ObjectPlace } from './catalogue.js';

function both(own: readonly string[], system: readonly string[]): readonly string[] {
  return [...new Set([...own, ...system])].sort();
}

export function mergedCatalogue(own: Catalogue, system: Catalogue): Catalogue {
  const isMerged = (place: ObjectPlace) => !place.startsWith('home/');
  /** Which of the two has an object. */
  const holder = (place: ObjectPlace, name: string): Catalogue => {
    if (!isMerged(place)) return own;
    const kind = kindOf(place);
    if (kind !== 'tool') return own[kind](place, name) === undefined ? system : own;
    if (own.tool(place, name) !== undefined) return own;
    if (system.tool(place, name) !== undefined) return system;
    return own.isDescribed(place, name) ? own : system;
  };
  return {
    tools: (place) => (isMerged(place) ? both(own.tools(place), system.tools(place)) : own.tools(place)),
    tool: (place, name) => holder(place, name).tool(place, name),
    policy: (place, name) => holder(place, name).policy(place, name),
    described: (place) =>
      isMerged(place) ? both(own.described(place), system.described(place)) : own.described(place),
    isDescribed: (place, name) => own.isDescribed(place, name) || (isMerged(place) && system.isDescribed(place, name)),
    agent: (place, name) => holder(place, name).agent(place, name),
    providers: (place) =>
      isMerged(place) ? both(own.providers(place), system.providers(place)) : own.providers(place),
    model: (place, name) => holder(place, name).model(place, name),
    spaceFiles: (name) => (own.space(name) === undefined ? system : own).spaceFiles(name),
    spaces: () => both(own.spaces(), system.spaces()),
    space: (name) => own.space(name) ?? system.space(name),
    controls: (place, name) => holder(place, name).controls(place, name),
    control: (place, name, file) => holder(place, name).control(place, name, file),
  };
}
