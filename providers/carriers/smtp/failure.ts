import type { NodemailerError } from 'nodemailer';
import { refusedCredentials, type SendOutcome } from '#domain/messages/send-outcome.ts';
import { blamesSender } from './about-sender.ts';

/** Replies about the login, not about the message (RFC 4954, section 6). */
const LOGIN_REPLIES = [530, 534, 535, 538];

/** Until then, a server knows neither the recipient nor the text. */
const BEFORE_RECIPIENT = new Set(['CONN', 'EHLO', 'HELO', 'LHLO', 'STARTTLS', 'MAIL FROM']);

/** Enhanced codes about the session (RFC 3463, section 3.6). With 5.5.0, some servers speak of a mailbox. */
const PROTOCOL_CODE = /\b5\.5\.[1-9]\d*\b/;
/** The server does not understand or expect a command (RFC 5321, section 4.2.4), unless a code of another class says more. */
const ABOUT_PROTOCOL = /\b50[0234]\b(?![ -]5\.[^5])/;

/** Whether a permanent reply is about the account, the sender or the server rather than the recipient or the text. */
const isAboutSender = ({ command = '', message, response = message }: NodemailerError): boolean =>
  BEFORE_RECIPIENT.has(command) ||
  blamesSender(response) ||
  PROTOCOL_CODE.test(response) ||
  ABOUT_PROTOCOL.test(response.slice(0, 10));

/**
 * Translates an error of the mail library (RFC 5321, section 4.2.1: 4yz is transient, 5yz permanent). A server that
 * received the end of the data and did not reply so may have accepted the message; before it, it has accepted nothing (section 4.1.1.4).
 * The library goes on with the data whether the server asks for it with 354 or 250, so a 354 may also come after it.
 * @param dataEnded whether the end of the message may have been written to the server.
 */
export function smtpFailure(error: NodemailerError, dataEnded: boolean): SendOutcome {
  const { code, command, response, responseCode, message: reason } = error;
  const refuses = responseCode !== undefined && responseCode >= 400 && responseCode < 600;
  const isReplyToData = code === 'EMESSAGE' && command === 'DATA' && response !== undefined;
  if (isReplyToData ? !refuses : dataEnded) return { kind: 'unknown', reason };
  if (code === 'EAUTH' || (refuses && LOGIN_REPLIES.includes(responseCode)))
    return refusedCredentials(reason);
  // A server that does not speak SMTP, such as a proxy.
  const isForeign = code === 'EPROTOCOL' || (response !== undefined && !refuses);
  const isPermanent = refuses && responseCode >= 500;
  if (isForeign || (isPermanent && isAboutSender(error))) return { kind: 'transient', reason, ofLine: true };
  if (refuses) return { kind: isPermanent ? 'refused' : 'transient', reason };
  // Rejected by the library before sending: no valid recipient, or larger than the server accepts.
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'refused', reason };
  return { kind: 'transient', reason };
}
