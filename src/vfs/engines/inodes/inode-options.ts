/** How a tree of inodes is opened. */
export interface InodeOptions {
  readonly label: string;
  readonly writable: boolean;
  readonly durable: boolean;
  /** What statfs reports as its size, and writes are refused beyond. */
  readonly capacity?: number | undefined;
  readonly inodes?: number | undefined;
  readonly changesOutside?: boolean | undefined;
  /** When its store has been closed. */
  readonly ended?: (() => void) | undefined;
}
