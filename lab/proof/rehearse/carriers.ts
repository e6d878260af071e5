import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { behaviourOf } from '../../../simulator/behaviour.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '../../../simulator/bluebubbles.ts';
import { startTwilio } from '../../../simulator/twilio.ts';
import type { AtCarrier } from '../chaos/judge.ts';
import type { Certificates } from './certificates.ts';
import { loopbackAddress, publicAddress } from './public-address.ts';
import { startTlsFront, type TlsFront } from './tls-front.ts';

/** A message that a carrier accepted. Neither carrier keeps a reference of ours. */
export type Accepted = Pick<AtCarrier, 'text' | 'lineId'> & { acceptedAt: Date };

/** A BlueBubbles server for each iMessage line, and Twilio for SMS, behind TLS. */
export interface Carriers {
  /** For `TWILIO_API_URL`. */
  twilioUrl: string;
  account: { accountSid: string; authToken: string };
  /** Starts the server of a line. @returns the settings of its connection. */
  serverOf(lineId: string): Promise<{ url: string; password: string }>;
  accepted(): Accepted[];
  /** Has a contact write to an iMessage line, until the product has heard it. @returns the carrier's id. */
  writeIn(lineId: string, from: string, text: string, files?: number): Promise<string>;
  stop(): Promise<void>;
}

/** The number of the account at Twilio, which the lines for SMS share. */
export const TWILIO_NUMBER = '+14155550199';

const AGAIN_MS = 1000;

export async function startCarriers(tls: Certificates): Promise<Carriers> {
  const account = { sid: `AC${randomBytes(16).toString('hex')}`, authToken: randomBytes(16).toString('hex') };
  const twilio = await startTwilio(account);
  twilio.numbers.set(TWILIO_NUMBER, { smsUrl: '', sms: true });
  const fronts: TlsFront[] = [];
  const front = async (url: string, at?: { host: string; port: number }): Promise<number> => {
    const started = await startTlsFront(tls, [Number(new URL(url).port)], at);
    fronts.push(started);
    return started.port;
  };
  const servers = new Map<string, BlueBubblesStandIn>();
  const password = randomBytes(16).toString('hex');
  const hasIMessage = (to: string): boolean => behaviourOf(to) !== 'unavailable';

  return {
    twilioUrl: `https://localhost:${await front(twilio.url)}`,
    account: { accountSid: account.sid, authToken: account.authToken },
    async serverOf(lineId) {
      const server = await startBlueBubbles(password, hasIMessage);
      servers.set(lineId, server);
      // After the customer's server. Only the ports of the protocol may be connected to.
      const host = servers.size + 1;
      await front(server.url, { host: loopbackAddress(host), port: 443 });
      return { url: `https://[${publicAddress(host)}]`, password };
    },
    accepted() {
      const texts = twilio.sent.map(({ body, statusCallback, createdAt }) => ({
        text: body,
        lineId: statusCallback?.split('/').at(-1) ?? '',
        acceptedAt: createdAt,
      }));
      const iMessages = [...servers].flatMap(([lineId, { messages }]) =>
        messages
          .filter(({ left }) => left)
          .map(({ text, createdAt }) => ({ text, lineId, acceptedAt: new Date(createdAt) })),
      );
      return [...texts, ...iMessages];
    },
    async writeIn(lineId, from, text, files = 0) {
      const guid = randomUUID();
      const attachments = Array.from({ length: files }, (_, index) => ({
        guid: `${guid}-${index}`,
        transferName: `picture-${index}.png`,
        mimeType: 'image/png',
      }));
      const data = {
        guid,
        text,
        attachments,
        isFromMe: false,
        itemType: 0,
        handle: { address: from },
        chats: [{ guid: `iMessage;-;${from}` }],
        dateCreated: Date.now(),
      };
      const [webhook] = servers.get(lineId)?.webhooks ?? [];
      if (!webhook) throw new Error(`no callback is registered for the line ${lineId}`);
      for (;;) {
        const response = await fetch(webhook.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ type: 'new-message', data }),
        }).catch(() => null);
        await response?.arrayBuffer();
        if (response?.ok) return guid;
        await pause(AGAIN_MS);
      }
    },
    async stop() {
      await Promise.all([twilio, ...servers.values()].map((server) => server.stop()));
      await Promise.all(fronts.map((one) => one.close()));
    },
  };
}
