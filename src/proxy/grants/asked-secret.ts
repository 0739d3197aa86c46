/** A header for a host, as a request asks for it. */
export interface AskedSecret {
  readonly host: string;
  readonly header: string;
  /** The secret itself; or `template`, and exactly one of the two. */
  readonly value?: string | undefined;
  /** Names stored secrets: `Bearer $TOKEN`. */
  readonly template?: string | undefined;
  /** Where the host serves HTTPS; 443 if left out. */
  readonly port?: number | undefined;
}

/** `$NAME` in a template. */
export const variable = /\$(\w+)/g;
