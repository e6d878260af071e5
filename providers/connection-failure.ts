import { UrlNotAllowed } from './egress-guard.ts';

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'host name not found',
  ENODATA: 'host name not found',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  HPE_INVALID_EOF_STATE: 'connection closed before the response was complete',
  UND_ERR_SOCKET: 'connection closed before the response was complete',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is self-signed',
  UNABLE_TO_GET_ISSUER_CERT: 'the certificate cannot be verified',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate cannot be verified',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on this port',
};

/**
 * Describes an error by its code, because system messages contain internal addresses.
 * @param code default: the error's own.
 */
export function connectionFailure(error: unknown, code = codeOf(error)): string {
  if (error instanceof UrlNotAllowed) return `url not allowed: ${error.message}`;
  if (error instanceof Error && error.name === 'TimeoutError') return 'timeout';
  const isParserError = error instanceof Error && error.name === 'HTTPParserError';
  if (WORDS[code] === undefined && (isParserError || code.startsWith('HPE_')))
    return 'the response is not valid HTTP';
  return WORDS[code] ?? `request failed (${code})`;
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
