/**
 * Where the programs of the system are that ctx itself starts, outside of any jail. Not by the person's PATH: a directory of a project
 * may come first there, and what a command made may have been applied to it. The last is where NixOS has its setuid programs.
 */
export const programPlaces: readonly string[] = ['/usr/local/bin', '/usr/bin', '/bin', '/run/wrappers/bin'];

/** As PATH. */
export const systemPath = programPlaces.join(':');
