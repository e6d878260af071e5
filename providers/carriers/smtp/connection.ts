import type { ImapFlowError } from 'imapflow';
import { codeOf, connectionFailure } from '../../connection-failure.ts';
import type { ConnectionCheck, ConnectionGuide } from '../carrier.ts';
import { failed, passed, unknown } from '../connection-checks.ts';

export const SMTP_GUIDE: ConnectionGuide = {
  title: 'A mailbox',
  summary: 'Email through the SMTP and IMAP servers of a mailbox of yours.',
  before: [
    'Find the SMTP and the IMAP server of the mailbox in the help of its provider, under “email client” or “app” settings.',
    'Where two-step verification is on, create an app password for Linepace: the usual password is refused.',
    'Allow IMAP in the settings of the mailbox, so that replies can be read.',
  ],
  after: [
    'Publish the SPF, DKIM and DMARC records of the domain; this page checks them.',
    'Where no mailbox is read, enter the callback URL below as the inbound and the bounce webhook of the mail service.',
  ],
};

interface Server {
  /** `mail.example:465` */
  name: string;
  /** The setting that names the server, and the one with the password. */
  settings: { server: string; password: string };
}

const TLS =
  /^(ETLS|EREQUIRETLS|CERT_|UNABLE_TO_GET_ISSUER|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_VERIFY)/;

/**
 * The checks of a login at the outgoing server, step by step.
 * @param error null: it worked.
 */
export function* sendingChecks(
  { name, settings }: Server,
  { error, hasLogin }: { error: unknown; hasLogin: boolean },
): Iterable<ConnectionCheck> {
  const code = causeOf(error);
  if (error !== null && code !== 'EAUTH') {
    const text = `${sendingFailure(name, error)}.`;
    if (!TLS.test(code)) yield failed('server', text, settings.server);
    else {
      yield passed('server', `${name} responds.`);
      yield failed('encryption', text, isUntrusted(code) ? 'caCertificates' : settings.server);
    }
    return;
  }
  yield passed('server', `${name} responds.`);
  if (!hasLogin)
    yield unknown('credentials', `${name} was asked for nothing but a connection: no user is given.`);
  else if (error === null) yield passed('credentials', `${name} accepts the user and the password.`);
  else yield failed('credentials', `${name} refuses the user or the password.`, settings.password);
}

/** Why a connection to the outgoing server does not work, in a sentence without its full stop. */
export function sendingFailure(name: string, error: unknown): string {
  const code = causeOf(error);
  if (code === 'EAUTH') return `${name} refuses the user or the password: ${(error as Error).message}`;
  if (TLS.test(code)) return `${name} offers no valid TLS: ${reasonOf(error)}`;
  const { responseCode, message } = error as { responseCode?: number; message?: string };
  if (responseCode !== undefined) return `${name} refuses the connection: ${message}`;
  return `${name} does not respond: ${reasonOf(error)}`;
}

/** Why a mailbox cannot be read, in a sentence without its full stop. The text of the server may be in it. */
export function mailboxFailure(
  mailbox: { host: string; port: number; folder: string },
  error: unknown,
): string {
  const name = `${mailbox.host}:${mailbox.port}`;
  const { mailboxMissing, responseText, tlsFailed, reason } = error as Partial<
    ImapFlowError & { reason: unknown }
  >;
  const said = responseText === undefined ? '' : `: ${responseText}`;
  // The server says goodbye before it knows who is there.
  if (typeof reason === 'string' && reason !== '') return `${name} closes the connection: ${reason}`;
  if (refusesLogin(error)) return `${name} ${loginRefusal(error)}${said}`;
  if (mailboxMissing) return `The mailbox ${mailbox.folder} cannot be opened${said}`;
  return `${name} cannot be used: ${tlsFailed ? tlsReason(error) : responseText === undefined ? reasonOf(error) : responseText}`;
}

/** The codes of a server that cannot log anybody in for now (RFC 5530, section 3). */
const NOT_NOW = new Set(['UNAVAILABLE', 'SERVERBUG', 'INUSE', 'LIMIT']);

/** The library takes each refusal of a login for one of the password. */
function refusesLogin(error: unknown): boolean {
  const { authenticationFailed, serverResponseCode = '' } = (error ?? {}) as Partial<ImapFlowError>;
  return authenticationFailed === true && !NOT_NOW.has(serverResponseCode);
}

/** What a refused login says by its code, if it does not concern the user or the password (RFC 5530, RFC 3501). */
const LOGIN_REFUSALS: Record<string, string> = {
  LOGINDISABLED:
    'takes no passwords on this connection: use imaps:// and its port, or allow logins with a password there',
  PRIVACYREQUIRED: 'takes passwords only on encrypted connections: use imaps:// and its port',
  NO_METHOD: 'offers no login with a password: allow it there, or use an app password',
  EXPIRED: 'says that the password has expired',
  AUTHORIZATIONFAILED: 'does not let this user open the mailbox',
  CONTACTADMIN: 'lets this user in only after its administrator was asked',
};
/** The library has no codes for what it finds out before the login. */
const LIBRARY_CODES: Record<string, string> = {
  'Login is disabled': 'LOGINDISABLED',
  'No matching authentication method': 'NO_METHOD',
};

function loginRefusal(error: unknown): string {
  const { serverResponseCode, message } = (error ?? {}) as Partial<ImapFlowError>;
  const code = serverResponseCode ?? LIBRARY_CODES[message ?? ''] ?? '';
  return LOGIN_REFUSALS[code] ?? 'refuses the user or the password';
}

const tlsReason = (error: unknown): string =>
  TLS.test(causeOf(error)) ? reasonOf(error) : 'TLS could not be started';

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const isUntrusted = (code: string): boolean => UNTRUSTED.has(code);

/** The checks of opening the mailbox for replies. */
export function* mailboxChecks({
  name,
  folder,
  error,
}: {
  name: string;
  folder: string;
  error: unknown;
}): Iterable<ConnectionCheck> {
  const { authenticationFailed, mailboxMissing, responseStatus, tlsFailed } = (error ??
    {}) as Partial<ImapFlowError>;
  const isNotNow = authenticationFailed === true && !refusesLogin(error);
  const isAnswered =
    error === null || authenticationFailed || mailboxMissing || (responseStatus !== undefined && !tlsFailed);
  if (!isAnswered) {
    yield failed(
      'inbox_server',
      `${name} cannot be used: ${tlsFailed ? tlsReason(error) : reasonOf(error)}.`,
      isUntrusted(causeOf(error)) ? 'caCertificates' : 'imapUrl',
    );
    return;
  }
  if (isNotNow) {
    yield failed('inbox_server', `${name} logs nobody in for now.`);
    return;
  }
  yield passed('inbox_server', `${name} responds.`);
  if (authenticationFailed) {
    yield failed('inbox_credentials', `${name} ${loginRefusal(error)}.`, 'imapUrl');
    return;
  }
  yield passed('inbox_credentials', `${name} accepts the user and the password.`);
  if (error === null) yield passed('inbox', `Replies are read from the mailbox ${folder}.`);
  else yield failed('inbox', `The mailbox ${folder} cannot be opened.`, 'imapUrl');
}

/** The library replaces the code of a system error by its own. */
const causeOf = (error: unknown): string =>
  (error as { originalCode?: string } | null)?.originalCode ?? codeOf(error);

/** The codes of the mail libraries. */
const WORDS: Record<string, string> = {
  EDNS: 'host name not found',
  ECONNECTION: 'connection closed',
  ETLS: 'STARTTLS is not offered, or fails',
  EREQUIRETLS: 'STARTTLS is not offered, or fails',
  NoConnection: 'connection closed',
  GREETING_TIMEOUT: 'it did not greet',
  CONNECT_TIMEOUT: 'connection timed out',
  // Of our own.
  NO_UIDNEXT: 'it reports no UIDNEXT',
  SEARCH_FAILED: 'it could not search the folder',
  NOT_RETURNED: 'it does not return an email',
  TOO_LATE: 'it did not answer in time',
};

function reasonOf(error: unknown): string {
  const code = causeOf(error);
  const reason = WORDS[code] ?? connectionFailure(error, code);
  return isUntrusted(code)
    ? `${reason}: no trusted authority signed it. Set caCertificates to the authority's certificate`
    : reason;
}
