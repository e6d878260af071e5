import type { NodemailerError } from 'nodemailer';
import { refusedCredentials, type SendOutcome } from '#domain/send-outcome.ts';

/** Replies about who we are, not about the message (RFC 4954 §6): the operator can put that right. */
const LOGIN_REPLIES = [530, 534, 535, 538];

/**
 * What an error of the mail library says of the message (RFC 5321 §4.2.1: 4yz may be tried again, 5yz is for
 * good). A server that was given data and then did not answer may have taken the message.
 * @param dataBegan whether any of the message had been written to the server
 */
export function smtpFailure(error: NodemailerError, dataBegan: boolean): SendOutcome {
  const { code, command, responseCode, permanent, message: reason } = error;
  const repliedToData = command === 'DATA' && responseCode !== undefined;
  if (dataBegan && !repliedToData) return { kind: 'unknown', reason };
  if (code === 'EAUTH' || (responseCode !== undefined && LOGIN_REPLIES.includes(responseCode))) {
    return refusedCredentials(reason);
  }
  if (responseCode !== undefined) return { kind: permanent ? 'refused' : 'transient', reason };
  // Judged by the library before the server was told: no valid recipient, or longer than the server takes.
  if (code === 'EENVELOPE' || code === 'EMESSAGE') return { kind: 'refused', reason };
  return { kind: 'transient', reason };
}
