/** What a bucket's server, or the way to it, says, as our errors. Pure. */
import { type ErrnoCode, ErrnoError } from '../../../base/errno.js';

interface Said {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

const credentialNames = new Set([
  'AccessDenied',
  'CredentialsProviderError',
  'ExpiredToken',
  'Forbidden',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
]);
/** What a server says of its room and its objects, also by a 403. */
const refusedNames: Readonly<Record<string, readonly [ErrnoCode, string, string?]>> = {
  QuotaExceeded: ['EDQUOT', 'the quota of its owner is used up'],
  XMinioStorageFull: ['ENOSPC', 'its server has no room left'],
  EntityTooLarge: ['EFBIG', 'its server takes no file of this size'],
  InvalidObjectState: ['EIO', 'it is archived', 'restore it in its bucket first'],
  RequestTimeTooSkewed: ['EACCES', 'the clock of this machine differs from that of its server', 'set the clock'],
};
const wayCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
]);

function statusOf(error: unknown): number | undefined {
  return (error as Said | undefined)?.$metadata?.httpStatusCode;
}

export function saysMissing(error: unknown): boolean {
  const { name } = (error ?? {}) as Said;
  return name !== 'NoSuchBucket' && (name === 'NotFound' || name === 'NoSuchKey' || statusOf(error) === 404);
}

export function s3Failure(error: unknown, operation: string, label: string, limit: number): ErrnoError {
  if (error instanceof ErrnoError) return error;
  const said = (error ?? {}) as Said;
  const { name = '', code = '' } = said;
  const refuse = (errno: ErrnoCode, reason: string, remedy?: string) =>
    new ErrnoError(errno, { operation, path: label, reason, remedy, cause: error });
  if (name === 'AbortError' || name === 'TimeoutError' || name === 'RequestAborted') {
    return refuse('ETIMEDOUT', `its server did not answer within ${limit / 1000} s (remoteCallMilliseconds)`);
  }
  if (name === 'NoSuchBucket') {
    return refuse('ENOENT', 'there is no such bucket', 'check its name and AWS_ENDPOINT_URL');
  }
  const known = Object.hasOwn(refusedNames, name) ? refusedNames[name] : undefined;
  if (known !== undefined) return refuse(...known);
  if (statusOf(error) === 507) return refuse('ENOSPC', 'its server has no room left');
  if (credentialNames.has(name) || statusOf(error) === 403 || statusOf(error) === 401) {
    const remedy = 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, for this command';
    return refuse('EACCES', `its server does not accept the credentials (${name || statusOf(error)})`, remedy);
  }
  if (statusOf(error) === 412 || name === 'PreconditionFailed' || name === 'ConditionalRequestConflict') {
    return refuse('ESTALE', 'another client has changed it meanwhile, and nothing was overwritten');
  }
  if (saysMissing(error)) return refuse('ESTALE', 'it is not there any more');
  if (wayCodes.has(code) || wayCodes.has(name)) {
    return refuse('EIO', `its server cannot be reached (${code || name})`, 'check AWS_ENDPOINT_URL and the network');
  }
  if (statusOf(error) === undefined && said.message === 'Region is missing') {
    return refuse('EINVAL', 'no region is set', 'set AWS_REGION, or a region in ~/.aws/config');
  }
  return refuse('EIO', `its server said: ${name || code || 'nothing'} ${said.message ?? ''}`.trim());
}
