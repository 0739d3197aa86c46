/** A text for the shell, as a command: for bash where there is one, since it is read as bash's before it runs. */
import { existsSync } from 'node:fs';

export function shellCommand(text: string): readonly string[] {
  return [existsSync('/bin/bash') ? 'bash' : 'sh', '-c', text];
}
