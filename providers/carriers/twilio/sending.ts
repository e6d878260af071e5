import { z } from 'zod';
import { numeric, readable } from '#domain/base/bounded-schema.ts';
import type { Exchange } from '../../egress-exchange.ts';
import { timeLimit } from '../../time-limit.ts';
import type { Carrier, OutboundMessage, SendOutcome } from '../carrier.ts';
import { Explanation, foreignAnswer, readJson } from '../http-response.ts';
import type { TwilioApi, TwilioConfig } from './api.ts';
import { ErrorResponse, twilioFailure, twilioReason as reasonOf } from './errors.ts';

const MessageAnswer = z.object({
  // That Twilio has named it is enough: it has taken the message.
  sid: z.string().min(1),
  status: readable(Explanation),
  error_code: readable(numeric),
  error_message: readable(Explanation),
});

export function createSending(api: TwilioApi): Pick<Carrier<TwilioConfig>, 'send'> {
  return {
    async send(config, message, signal) {
      const limit = timeLimit(api.timeoutMs, signal);
      return sendOutcome(await api.send(config, '/Messages.json', messageForm(config, message), limit));
    },
  };
}

function messageForm(config: TwilioConfig, message: OutboundMessage): URLSearchParams {
  const form = new URLSearchParams({ To: message.to.address, StatusCallback: message.callbackUrl });
  if (config.messagingServiceSid === undefined) form.set('From', config.from ?? message.from.address);
  else form.set('MessagingServiceSid', config.messagingServiceSid);
  if (message.text !== '') form.set('Body', message.text);
  for (const { url } of message.attachments) form.append('MediaUrl', url);
  return form;
}

function sendOutcome(response: Exchange): SendOutcome {
  if (!response.connected) return { kind: 'transient', reason: reasonOf(response) };
  if (response.error !== null || response.status === null)
    return { kind: 'unknown', reason: reasonOf(response) };
  if (response.status < 200 || response.status > 299) {
    const code = readJson(response, ErrorResponse)?.code ?? null;
    return twilioFailure(code, response.status, reasonOf(response));
  }
  const taken = readJson(response, MessageAnswer);
  if (!taken) return foreignAnswer(reasonOf(response));
  if (taken.status === 'failed' || taken.status === 'undelivered') {
    const reason = taken.error_message ?? taken.status;
    return typeof taken.error_code === 'number'
      ? twilioFailure(taken.error_code, 400, reason)
      : { kind: 'refused', reason };
  }
  return { kind: 'accepted', carrierMessageId: taken.sid };
}
