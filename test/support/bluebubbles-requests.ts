import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import type { MessageAction } from '#domain/messages/message-action.ts';
import { newId } from '#domain/base/ids.ts';
import { BlueBubblesConfig } from '#providers/carriers/bluebubbles/api.ts';
import { blueBubblesCarrier } from '#providers/carriers/bluebubbles/bluebubbles.ts';
import { startBlueBubbles } from '#simulator/bluebubbles.ts';
import { type SentRequest, startRecorder } from './openapi-contract.ts';

const PASSWORD = 'a password & more';
const never = new AbortController().signal;
const LINE_ID = newId();
const CALLBACK = `https://linepace.example/callbacks/carriers/bluebubbles/${LINE_ID}`;

/** All kinds of requests that are made to a BlueBubbles server, as the adapter makes them. */
export async function recordBlueBubblesRequests(): Promise<SentRequest[]> {
  const server = await startBlueBubbles(PASSWORD);
  Object.assign(server.info, { private_api: true, helper_connected: true });
  const recorder = await startRecorder(server.url);
  const carrier = blueBubblesCarrier({
    recheckMs: 1,
    fetchMedia: async () => ({ content: Buffer.from('a file'), contentType: 'text/plain' }),
  });
  const secrets = { password: PASSWORD, callbackSecret: 'a-secret-of-the-line' };
  const configOf = (method: string) => BlueBubblesConfig.parse({ url: recorder.url, ...secrets, method });
  const text = 'Grüße & more: 100 % + “quotes” 🎉\r\nand lines';
  const file = { name: 'Grüße.txt', url: 'https://files.example/a', contentType: null, voiceNote: false };
  let recipients = 0;
  try {
    for (const method of ['apple-script', 'private-api']) {
      const config = configOf(method);
      for (const channel of ['imessage', 'sms'] as const) {
        for (const content of [
          { text },
          { text, attachments: [file, { ...file, voiceNote: true }] },
          { text: '', attachments: [file] },
        ]) {
          for (const isKnown of [true, false]) {
            const to = `+1415555${String((recipients += 1)).padStart(4, '0')}`;
            if (!isKnown) server.stranger(to);
            const message = {
              attemptId: newId(),
              messageId: newId(),
              lineId: LINE_ID,
              channel,
              from: { address: '+14155550111', name: '' },
              to: { address: to, name: null },
              attachments: [],
              callbackUrl: CALLBACK,
              ...content,
            };
            const outcome = await carrier.send(config, message, never);
            assert.equal(outcome.kind, 'accepted', JSON.stringify({ method, channel, outcome }));
          }
        }
      }
      assert.equal((await carrier.checkAvailability(config, 'ada+1@contact.example')).status, 'available');
      await carrier.probe(config, LINE_ID);
    }

    const config = configOf('private-api');
    const known = await server.write('+14155550001', { text: 'Which one?' });
    const rich = { replyTo: known.guid, effect: 'slam' as const };
    for (const content of [
      { text },
      { text, attachments: [file, file] },
      { text: '', attachments: [file] },
    ]) {
      const message = {
        attemptId: newId(),
        messageId: newId(),
        lineId: LINE_ID,
        channel: 'imessage' as const,
        from: { address: '+14155550111', name: '' },
        to: { address: '+14155550001', name: null },
        attachments: [],
        callbackUrl: CALLBACK,
        ...content,
        ...rich,
      };
      const outcome = await carrier.send(config, message, never);
      assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome));
    }
    const actions: MessageAction[] = [
      { kind: 'reaction', reaction: 'love', removed: false },
      { kind: 'reaction', reaction: 'love', removed: true },
      { kind: 'typing', on: true },
      { kind: 'typing', on: false },
      { kind: 'read' },
      { kind: 'contact_card', firstName: 'Dana', lastName: 'Line' },
      { kind: 'edit', text },
      { kind: 'unsend' },
    ];
    for (const action of actions) {
      const asked = {
        id: newId(),
        lineId: LINE_ID,
        channel: 'imessage' as const,
        to: '+14155550001',
        carrierMessageId: server.messages.at(-1)?.guid ?? null,
        action,
        startedAt: new Date(),
      };
      assert.equal((await carrier.act?.(config, asked, never))?.kind, 'accepted', action.kind);
      await carrier.findAction?.(config, asked, never);
    }
    const attempt = {
      attemptId: newId(),
      lineId: LINE_ID,
      channel: 'imessage' as const,
      from: null,
      to: '+14155550001',
      text,
      attachmentCount: 0,
      takenIds: [],
      startedAt: new Date(),
      startedBy: new Date(),
    };
    await carrier.reconcile(config, attempt);

    // The second registration replaces the first, of another public URL.
    await carrier.configureInbound?.(config, LINE_ID, CALLBACK.replace('linepace', 'former'));
    await carrier.configureInbound?.(config, LINE_ID, CALLBACK);
    const subject = {
      lineId: LINE_ID,
      address: '+14155550111',
      callbackUrl: CALLBACK,
      reachCallbacks: async () => ({ result: 'pass' as const, text: 'It answers.' }),
    };
    for await (const { result, text: said } of carrier.checkConnection(config, subject))
      assert.equal(result, 'pass', said);

    const start = await carrier.readInbox?.(config, null, 'test');
    const attachments = [{ guid: 'at_0_A1', transferName: 'a.png', mimeType: 'image/png' }];
    const reply = {
      guid: newId(),
      text: 'Yes',
      isFromMe: false,
      dateCreated: Date.now(),
      itemType: 0,
      attachments,
    };
    const written = await server.write('+14155550001', reply);
    await carrier.readInbox?.(config, start?.read.at(-1)?.position ?? null, 'test');
    const { isAutoReply: _, ...data } = written;
    await carrier.parseCallback(
      config,
      {
        url: `${CALLBACK}?secret=${secrets.callbackSecret}`,
        headers: {},
        rawBody: JSON.stringify({ type: 'new-message', data }),
      },
      'test',
    );
    const address = `${recorder.url}/api/v1/attachment/at_0_A1/download`;
    await buffer((await carrier.openMedia(config, address, never)).body);
    return recorder.requests;
  } finally {
    await carrier.close();
    await recorder.close();
    await server.stop();
  }
}
