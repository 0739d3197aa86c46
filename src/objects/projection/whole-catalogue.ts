/** All there is, for anyone who looks: files, the tools that every installation has, and those of sources. */
import type { ObjectRoots } from '../layout.js';
import type { Catalogue } from './catalogue.js';
import { catalogueOf } from './disk-catalogue.js';
import { withBuiltIns } from './with-built-ins.js';
import { type SourceStates, withSources } from './with-sources.js';
import { withWholeControls } from './with-whole-controls.js';

export function wholeCatalogue(roots: ObjectRoots, sources?: SourceStates): Catalogue {
  return withWholeControls(withSources(withBuiltIns(catalogueOf(roots)), roots, sources));
}
