/** The tree of a view: `model agent tool home shared` and nothing else at its root. Pure, over a catalogue. */
import { modelDirectory } from './model-nodes.js';
import { agentDirectory, directory, type Shown, sharedDirectory, toolDirectory, type ViewDirectory } from './nodes.js';

export function viewRoot(shown: Shown): ViewDirectory {
  const own = `home/${shown.uid}`;
  return directory({
    model: () => modelDirectory(shown, 'model'),
    agent: () => agentDirectory(shown, 'agent'),
    tool: () => toolDirectory(shown, 'tool'),
    home: () =>
      directory({
        [String(shown.uid)]: () =>
          directory({
            agent: () => agentDirectory(shown, `${own}/agent`),
            tool: () => toolDirectory(shown, `${own}/tool`),
            model: () => modelDirectory(shown, `${own}/model`),
          }),
      }),
    shared: () => sharedDirectory(shown),
  });
}
