/** The record as everybody writes it: into its chains, told near its objects, sealed where a segment has ended. */
import { type AuditPlaces, readAuditSettings } from './audit/places.js';
import { agentIn, type ProjectionPlaces, parentIn, projectEvents } from './audit/projection.js';
import { ChainRecorder } from './audit/recorder.js';

/** After the command, and loaded only then: signing costs more than most commands do. */
async function seal(places: AuditPlaces, recorder: ChainRecorder): Promise<void> {
  const [{ sealAll }, { anchorsOf }] = await Promise.all([import('./audit/seal.js'), import('./audit/anchors-of.js')]);
  sealAll(recorder, anchorsOf(places));
}

export function composeRecorder(places: AuditPlaces, objects: ProjectionPlaces): ChainRecorder {
  const { record, library, settings } = places;
  let sealing = false;
  return new ChainRecorder({
    record,
    library,
    now: () => new Date(),
    durable: readAuditSettings(settings).durable,
    isAgent: agentIn(objects),
    parentOf: parentIn(objects),
    onRecorded: projectEvents(objects),
    onRotated: (_chain, _end, recorder) => {
      if (sealing) return;
      sealing = true;
      seal(places, recorder)
        .catch((error: unknown) => {
          // The segments stay, and `ctx audit verify` says that they are not signed yet.
          process.emitWarning(
            `the record could not be sealed: ${error instanceof Error ? error.message : String(error)}`,
          );
        })
        // A process that stays ends many a segment.
        .finally(() => {
          sealing = false;
        });
    },
  });
}
