/** Models in a view: `PROVIDER/MODEL`, an executable file and its control files. Pure, over a catalogue. */
import { isObjectName } from '../../authority/name.js';
import type { ObjectPlace } from './catalogue.js';
import { controlDirectory, fileOf, objectOf, type Shown, type ViewDirectory } from './nodes.js';
import { isModelSeen } from './visible.js';

function isThere({ catalogue, viewer }: Shown, place: ObjectPlace, name: string): boolean {
  const looking = viewer();
  if (looking === undefined) return catalogue.model(place, name) !== undefined;
  return isModelSeen(catalogue, looking, place, name);
}

function modelsOf(shown: Shown, place: ObjectPlace): readonly string[] {
  return shown.catalogue.described(place).filter((name) => isThere(shown, place, name));
}

function providerDirectory(shown: Shown, place: ObjectPlace): ViewDirectory {
  return {
    kind: 'directory',
    names: () => modelsOf(shown, place).flatMap((name) => [name, `${name}.d`]),
    child: (entry) => {
      const object = objectOf(entry);
      if (object === undefined || !isThere(shown, place, object.name)) return undefined;
      return object.isControl ? controlDirectory(shown, place, object.name) : fileOf(shown);
    },
  };
}

/** A provider is shown with the first of its models. */
export function modelDirectory(shown: Shown, place: ObjectPlace): ViewDirectory {
  const hasModels = (provider: string) => modelsOf(shown, `${place}/${provider}`).length > 0;
  return {
    kind: 'directory',
    isFixed: true,
    names: () => shown.catalogue.providers(place).filter(hasModels),
    child: (provider) =>
      isObjectName(provider) && hasModels(provider) ? providerDirectory(shown, `${place}/${provider}`) : undefined,
  };
}
