import { beforeAll, describe, expect, it } from 'vitest';
import { voiceNoteId } from '#db/queries/messages/voice-notes.ts';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, type SentMessage, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { PNG, uploaded, wav } from '#test/support/files.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
});

const tone = { name: 'hello.wav', content: wav(2), type: 'audio/wav' };

async function send(attachmentUrls: string[], fields = {}): Promise<{ id: string; to: string }> {
  const to = phone();
  const { status, body } = await api('POST', '/api/messages', {
    recipientPhone: to,
    attachmentUrls,
    voiceNote: true,
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: body._id, to };
}

const accepted = ({ to }: { to: string }): Promise<SentMessage> =>
  eventually(async () => (await sentTo(app, to))[0]);

/** @returns the voice note that the carrier fetches for an upload. */
async function noteOf(upload: string): Promise<Buffer> {
  const links = createSignedLinks(app.config.publicUrl, createSigner(app.config.signingKeys));
  const attachmentId = voiceNoteId(links.openUnverified(upload)?.attachmentId ?? '');
  const response = await fetch(
    links.sign({ workspaceId: workspace.id, attachmentId, name: 'note' }, new Date(Date.now() + 60_000)),
  );
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'audio/x-caf']);
  return Buffer.from(await response.arrayBuffer());
}

/** The format in the `desc` chunk of a Core Audio file. */
const formatOf = (caf: Buffer) => ({
  magic: caf.toString('latin1', 0, 4),
  codec: caf.toString('latin1', 28, 32),
  channels: caf.readUInt32BE(44),
});

const native = { magic: 'caff', codec: 'opus', channels: 1 };

describe('voice notes', () => {
  it('are sent as mono Opus in a Core Audio file, converted once for all messages', async () => {
    const url = await uploaded(app, workspace.key, tone);
    const messages = await Promise.all([
      send([url]),
      send([url]),
      send([url], { attachmentNames: ['Our offer.wav'] }),
    ]);
    const sent = await Promise.all(messages.map(accepted));
    expect(sent.map(({ attachments }) => attachments)).toEqual([
      [{ name: 'hello.caf', contentType: 'audio/x-caf', voiceNote: true }],
      [{ name: 'hello.caf', contentType: 'audio/x-caf', voiceNote: true }],
      [{ name: 'Our offer.caf', contentType: 'audio/x-caf', voiceNote: true }],
    ]);
    const note = await noteOf(url);
    expect(formatOf(note)).toEqual(native);
    expect(note.length).toBeLessThan(tone.content.length);

    const again = await uploaded(app, workspace.key, { name: 'native.caf', content: note });
    await accepted(await send([again]));
    expect(formatOf(await noteOf(again))).toEqual(native);
  });

  it('fail their message with a reason if the file is not audio', async () => {
    const broken = await uploaded(app, workspace.key, {
      name: 'broken.mp3',
      content: Buffer.alloc(20_000, 'not audio'),
    });
    const { id, to } = await send([broken], { message: 'listen' });
    const failed = await eventually(async () => {
      const { body } = await api('GET', `/api/messages/${id}`);
      return body.status === 'failed' && body;
    });
    expect(failed.errorMessage).toBe('voice_note_unreadable');
    expect(await sentTo(app, to)).toEqual([]);
  });

  it('are made from audio only and for iMessage only', async () => {
    const [audio, picture] = [
      await uploaded(app, workspace.key, tone),
      await uploaded(app, workspace.key, { name: 'a.png', content: PNG }),
    ];
    const mixed = await accepted(await send([picture, audio]));
    expect(mixed.attachments).toEqual([
      { name: 'a.png', contentType: 'image/png', voiceNote: false },
      { name: 'hello.caf', contentType: 'audio/x-caf', voiceNote: true },
    ]);
    const sms = await accepted(await send([audio], { messageType: 'sms' }));
    expect(sms.attachments).toEqual([{ name: 'hello.wav', contentType: 'audio/wav', voiceNote: false }]);
  });

  it('do not block the other messages of their line', async () => {
    const slow = await send([await uploaded(app, workspace.key, { ...tone, content: wav(30, 48_000) })]);
    const plain = await send([], { message: 'plain', voiceNote: false });
    await Promise.all([accepted(slow), accepted(plain)]);
  });
});
