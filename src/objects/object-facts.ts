/** What there is of an object that a decision is about. What is not made of files yet (sessions) is missing. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Authority } from '../authority/authority.js';
import type { ObjectFacts } from '../authority/decide.js';
import { mountObjectName } from '../authority/name.js';
import type { ObjectClass } from '../authority/permission.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { inspectAgent } from './agent.js';
import type { ObjectRoots } from './layout.js';
import { findObject } from './object-store.js';
import { catalogueOf } from './projection/disk-catalogue.js';
import { toolHit } from './projection/visible.js';
import { withBuiltIns } from './projection/with-built-ins.js';
import { withSources } from './projection/with-sources.js';
import { toolFacts } from './tool.js';

const missing: ObjectFacts = Object.freeze({ exists: false, visible: false });

function directoryFacts(path: string): ObjectFacts {
  try {
    const { uid, gid, mode } = statSync(path);
    return { exists: true, visible: true, file: { uid, gid, mode } };
  } catch (error) {
    // The tiers of agents and shared spaces are seen by all, so what could be made there is not a secret.
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return { exists: false, visible: true };
    throw fromSystemError(error, 'stat', path);
  }
}

/** One that every installation has, or one of a source: found as a view finds it. EINVAL where its policy cannot be read. */
function toolWithoutFiles(roots: ObjectRoots, authority: Authority, name: string): ObjectFacts {
  const catalogue = withSources(withBuiltIns(catalogueOf(roots)), roots);
  const { facts = missing, problem } = toolHit(catalogue, { authority, now: 0 }, name) ?? {};
  if (problem !== undefined) throw new ErrnoError('EINVAL', { operation: `tool ${name}`, reason: problem });
  return facts;
}

/** As a view finds it: the machine's first. EINVAL where its policy cannot be read. */
function modelFacts(roots: ObjectRoots, { identity }: Authority, name: string, models: readonly string[]): ObjectFacts {
  const [provider = '', model = ''] = name.split('/');
  const catalogue = catalogueOf(roots);
  const found = ['model', `home/${identity.uid}/model`]
    .map((place) => catalogue.model(`${place}/${provider}`, model))
    .find((each) => each !== undefined);
  if (found?.problem !== undefined)
    throw new ErrnoError('EINVAL', { operation: `model ${name}`, reason: found.problem });
  return { ...(found?.facts ?? { exists: false }), visible: models.includes(name) };
}

export function objectFacts(
  roots: ObjectRoots,
  authority: Authority,
  objectClass: ObjectClass,
  name: string,
  /** Those that its `model` file names, and those of its parents. */
  models: readonly string[] = [],
): ObjectFacts {
  switch (objectClass) {
    case 'tool': {
      const object = findObject(roots, 'tool', name);
      return object === undefined
        ? toolWithoutFiles(roots, authority, name)
        : toolFacts(roots, authority.toolPath, object);
    }
    case 'agent': {
      const object = findObject(roots, 'agent', name);
      if (object === undefined) return { exists: false, visible: true };
      const { label } = inspectAgent(object).values;
      return { ...directoryFacts(object.directory), ...(label === undefined ? {} : { label }) };
    }
    case 'shared': {
      const own = directoryFacts(join(roots.root, 'shared', name));
      return own.exists || roots.system === undefined ? own : directoryFacts(join(roots.system, 'shared', name));
    }
    case 'mount': {
      const entry = authority.view.allowedReads().find(({ target }) => mountObjectName(target) === name);
      if (entry === undefined) return missing;
      if (entry.of !== 'host') return { exists: true, visible: true };
      return directoryFacts(entry.source);
    }
    case 'network':
      return { exists: true, visible: true };
    case 'model':
      return modelFacts(roots, authority, name, models);
    case 'session':
      return missing;
  }
}
