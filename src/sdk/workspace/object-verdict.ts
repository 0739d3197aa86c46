/** What the policies say of an object, for a command with this Authority. */
import { decide } from '../../authority/decide.js';
import { type Explanation, explainDecision } from '../../authority/explain.js';
import { type Grant, nameFault } from '../../authority/permission.js';
import { allowed, type Verdict } from '../../authority/refusal.js';
import { objectFacts } from '../../objects/object-facts.js';
import { modelsOf } from '../../objects/projection/agent-viewer.js';
import type { ResolvedAuthority } from '../../proxy/grants/authority-of.js';
import type { Host } from '../../proxy/host.js';

interface ObjectAsker {
  readonly host: Host;
  readonly resolved: ResolvedAuthority;
  readonly now: number;
  readonly used: number;
}

function requestOf({ host, resolved, now, used }: ObjectAsker, grant: Grant) {
  const { authority, agent, line } = resolved;
  const { uid, gid } = authority.identity;
  const models = agent === undefined ? [] : modelsOf([agent, ...line.filter((each) => each !== agent)]);
  const object = objectFacts({ root: host.root, uid, system: host.system }, authority, grant.class, grant.name, models);
  return { authority, credential: { uid, gid }, ...grant, object, now, used };
}

export function explainObject(asker: ObjectAsker, grant: Grant): Explanation {
  return explainDecision(requestOf(asker, grant));
}

/** Of a name that no object can have nothing is decided. */
export function objectVerdict(asker: ObjectAsker, grant: Grant): Verdict {
  return nameFault(grant.class, grant.name) === undefined ? decide(requestOf(asker, grant)) : allowed;
}
