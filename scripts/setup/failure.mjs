/** A set-up step that could not be done. The message is the whole story for a person: what, why, what to run. */
export class SetupFailure extends Error {
  name = 'SetupFailure';

  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The exit code for "this machine lacks something", as of every `ctx` verb. */
export const unavailable = 69;
