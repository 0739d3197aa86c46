/** All rows: faults in code that acts, each `{ file, from, to, why, tests }`. */

import { chosen } from './chosen.mjs';
import { chosenAudit } from './chosen-audit.mjs';
import { chosenDecide } from './chosen-decide.mjs';
import { chosenEighteenth } from './chosen-eighteenth.mjs';
import { chosenEighth } from './chosen-eighth.mjs';
import { chosenEleventh } from './chosen-eleventh.mjs';
import { chosenFaces } from './chosen-faces.mjs';
import { chosenMoreFaces } from './chosen-faces2.mjs';
import { chosenFifteenth } from './chosen-fifteenth.mjs';
import { chosenFifth } from './chosen-fifth.mjs';
import { chosenFourteenth } from './chosen-fourteenth.mjs';
import { chosenFourth } from './chosen-fourth.mjs';
import { chosenJail } from './chosen-jail.mjs';
import { chosenJail2 } from './chosen-jail2.mjs';
import { chosenLater } from './chosen-later.mjs';
import { chosenNineteenth } from './chosen-nineteenth.mjs';
import { chosenNinth } from './chosen-ninth.mjs';
import { chosenProxy } from './chosen-proxy.mjs';
import { chosenProxy2 } from './chosen-proxy2.mjs';
import { chosenSeventeenth } from './chosen-seventeenth.mjs';
import { chosenSeventh } from './chosen-seventh.mjs';
import { chosenSixteenth } from './chosen-sixteenth.mjs';
import { chosenSixth } from './chosen-sixth.mjs';
import { chosenTenth } from './chosen-tenth.mjs';
import { chosenTree } from './chosen-tree.mjs';
import { chosenTree2 } from './chosen-tree2.mjs';
import { chosenTwentieth } from './chosen-twentieth.mjs';
import { chosenTwentyFirst } from './chosen-twenty-first.mjs';
import { chosenTwentyFourth } from './chosen-twenty-fourth.mjs';
import { chosenTwentySecond } from './chosen-twenty-second.mjs';
import { chosenTwentyThird } from './chosen-twenty-third.mjs';
import { chosenVault } from './chosen-vault.mjs';
import { chosenVault2 } from './chosen-vault2.mjs';
import { table } from './table.mjs';

export const tables = [
  ...table,
  ...chosen,
  ...chosenLater,
  ...chosenFourth,
  ...chosenFifth,
  ...chosenSixth,
  ...chosenSeventh,
  ...chosenEighth,
  ...chosenNinth,
  ...chosenTenth,
  ...chosenEleventh,
  ...chosenFifteenth,
  ...chosenSixteenth,
  ...chosenSeventeenth,
  ...chosenEighteenth,
  ...chosenNineteenth,
  ...chosenTwentieth,
  ...chosenTwentyFirst,
  ...chosenTwentySecond,
  ...chosenTwentyThird,
  ...chosenTwentyFourth,
  ...chosenFaces,
  ...chosenMoreFaces,
  ...chosenDecide,
  ...chosenProxy,
  ...chosenProxy2,
  ...chosenTree,
  ...chosenTree2,
  ...chosenJail,
  ...chosenJail2,
  ...chosenVault,
  ...chosenVault2,
  ...chosenFourteenth,
  ...chosenAudit,
];
