import type { NodemailerError } from 'nodemailer';
import { refusedCredentials, type SendOutcome } from '#domain/messages/send-outcome.ts';

/** Replies about the login, not about the message (RFC 4954, section 6). */
const LOGIN_REPLIES = [530, 534, 535, 538];

/**
 * Translates an error of the mail library (RFC 5321, section 4.2.1: 4yz is transient, 5yz permanent). A server that
 * received the end of the data and did not reply may have accepted the message; before it, it has accepted nothing (section 4.1.1.4).
 * @param dataEnded whether the end of the message may have been written to the server.
 */
export function smtpFailure(error: NodemailerError, dataEnded: boolean): SendOutcome {
  const { code, command, responseCode, permanent, message: reason } = error;
  const repliedToData = command === 'DATA' && responseCode !== undefined;
  if (dataEnded && !repliedToData) return { kind: 'unknown', reason };
  if (code === 'EAUTH' || (responseCode !== undefined && LOGIN_REPLIES.includes(responseCode))) {
    return refusedCredentials(reason);
  }
  if (responseCode !== undefined) return { kind: permanent ? 'refused' : 'transient', reason };
  // Rejected by the library before sending: no valid recipient, or larger than the server accepts.
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'refused', reason };
  return { kind: 'transient', reason };
}
