/** The anchors of this record: the software root always, and what the operator set up. */

import { commandAnchor } from './anchor/command-anchor.js';
import { fileAnchor } from './anchor/file-anchor.js';
import { defaultTpm, tpmAnchor } from './anchor/tpm-anchor.js';
import type { Anchor } from './anchor.js';
import { type AnchorSetting, type AuditPlaces, readAuditSettings } from './places.js';

export const rootAnchor = 'root';

function anchorOf(setting: AnchorSetting): Anchor {
  switch (setting.kind) {
    case 'file':
      return fileAnchor(setting.path);
    case 'command':
      return commandAnchor(setting.argv);
    case 'tpm':
      return tpmAnchor({ ...defaultTpm, ...setting });
  }
}

export function anchorsOf({ root, settings }: AuditPlaces): readonly Anchor[] {
  return [fileAnchor(root, rootAnchor), ...readAuditSettings(settings).anchors.map(anchorOf)];
}
