/** Who a command is asked to be inside its jail, where it is not to be the workspace's owner: programs refuse to run as root. */
export interface AskedUser {
  readonly uid: number;
  /** Without one, the same number. */
  readonly gid?: number | undefined;
}
