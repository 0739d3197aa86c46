/** Limits of the network that a jail is granted, and of secrets. Each with its name, its value, and why it is that. */

/** Read from a host at once in a tunnel that carries much: larger ones are no quicker, and each connection has one. */
export const networkBulkBytes = 256 * 1024;

/** The same in one that has carried little so far: most answers fit, and a connection is opened sooner. */
export const networkFirstBulkBytes = 16 * 1024;

/** For so long the addresses of this machine are taken as read: a second is what a person needs to add one. */
export const networkOwnMilliseconds = 1_000;

/** Connections of one jail through the network proxy at once: two descriptors each, well below a limit of 1,024. */
export const networkConnections = 256;

/** Beyond them, so many wait for their turn, as long as a connection may take: a descriptor each. */
export const networkConnectionsWaiting = 1_024;

/** Head of one HTTP message through the network proxy: four times what servers take by default. */
export const networkHeadBytes = 32 * 1024;

/** From a connection's first moment until it has said in full what it wants: a client that drips is let go. */
export const networkHeadMilliseconds = 10_000;

/** For a name's resolution and for a connection to one of its addresses, together. */
export const networkConnectMilliseconds = 15_000;

/** A connection that carries nothing in either direction for so long is closed. */
export const networkIdleMilliseconds = 10 * 60_000;

/** After an answer: how long the client may take to close, so that its unread bytes do not reset what it has yet to read. */
export const networkLingerMilliseconds = 2_000;

/** Addresses of one name that are tried. */
export const networkAddressesTried = 8;

/** Different connections told apart in one report; more are counted as others, so that made-up names cannot fill it. */
export const networkConnectionsTold = 1_024;

/** Repeats of one connection within this time become one event with a count. */
export const networkRepeatMilliseconds = 1_000;

/** Value of one header that the network proxy adds for a host. */
export const networkSecretCharacters = 8 * 1024;

/** A file of certificate authorities: the whole bundle of a system is 250 kB. */
export const certificatesBytes = 4 * 1024 * 1024;

/** Different parts of one secret in a host's answers: a public beginning such as `sk-live-` is one, guesses are many. */
export const networkSecretParts = 4;

/** Earlier values of a host's secrets that are hidden in its answers, beside those in use. */
export const networkSecretValues = 16;

/** How long what a password manager's command said is used: asking it again for each request would be slow, or ask a person. */
export const secretFreshMilliseconds = 60_000;

/** How long such a command may take; a person may have to unlock something. */
export const secretCommandMilliseconds = 60_000;

/** How long one that failed is not run again: a jail that retries must not raise question after question. */
export const secretRetryMilliseconds = 5_000;

/** How long bytes of an answer that may hold a secret wait for the next ones: a stream of events flows on after it. */
export const networkRedactMilliseconds = 20;

/** For so long a host with a secret is spoken to on the word of a certificate that was checked before: as browsers do, and shorter. */
export const networkSessionMilliseconds = 10 * 60_000;

/** Hosts with secrets whose last session is kept. */
export const networkSessionHosts = 64;

/** Names that are resolved for one jail at once. */
export const networkLookups = 32;

/** How long a name that could not be resolved is not asked for again: clients retry at once. */
export const networkLookupRestMilliseconds = 1_000;
