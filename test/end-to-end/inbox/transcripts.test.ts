import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import {
  autoReplies,
  type Copilot,
  createCopilot,
  draftFor,
  modelRequestsAbout,
  receiveReply,
} from '#test/support/copilot.ts';
import { createLead } from '#test/support/factories.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { wav } from '#test/support/files.ts';
import { callBack, writeIn } from '#test/support/inbound.ts';

let app: TestApp;
let receiver: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
});
afterAll(() => receiver.close());

const TONE = wav(2);
const createDesk = (fields = {}): Promise<Copilot> => createCopilot(app, receiver, fields);

/** @param spoken what the simulated model hears from now on. @returns the carrier's id of the message. */
async function speak(desk: Copilot, from: string, spoken: string, content = TONE): Promise<string> {
  await fetch(`${app.url}/simulated/model/spoken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: spoken }),
  });
  const note = { name: 'note.wav', contentType: 'audio/wav', base64: content.toString('base64') };
  return writeIn(app, { lineId: desk.lineId, from, text: '', attachments: [note] });
}

const lastOf = async ({ call }: Copilot, contact: string) =>
  (await call('GET', `/api/conversations/${encodeURIComponent(contact)}`)).body.messages?.[0];
const heard = (desk: Copilot, contact: string): Promise<string> =>
  eventually(async () => (await lastOf(desk, contact))?.transcript ?? false);

const StateRow = z.object({ transcript: z.string().nullable(), due: z.boolean(), tries: z.int() });
/** The state of the only voice note of a workspace. */
const stateOf = ({ workspace }: Copilot): Promise<z.infer<typeof StateRow> | null> =>
  withSystem(app.pools, (db) =>
    db.maybeOne(sql.type(StateRow)`
      select i.transcript, a.transcribe_at is not null due, a.transcribe_tries tries from attachments a
      join inbound_messages i on i.workspace_id = a.workspace_id and i.id = a.inbound_message_id
      where a.workspace_id = ${workspace.id} and a.status = 'stored'`),
  );

describe('a voice note of a contact', () => {
  it('is written down, shown beside the audio and answered by the copilot', async () => {
    const desk = await createDesk();
    const contact = phone();
    await speak(desk, contact, 'Do you have it in blue?');
    expect(await heard(desk, contact)).toBe('Do you have it in blue?');
    expect(await lastOf(desk, contact)).toMatchObject({
      message: '',
      attachments: [{ name: 'note.wav', contentType: 'audio/wav' }],
    });
    const draft = await draftFor(desk, contact);
    expect(draft).toMatchObject({ inboundText: 'Do you have it in blue?' });
    expect(draft.draftMessage).toContain('Do you have it in blue?');
    const { workspace } = (await desk.call('GET', '/api/workspace')).body;
    // The two seconds of audio, and the draft.
    expect(workspace.aiTokensUsedToday).toBeGreaterThan(draft.promptTokens + draft.completionTokens);
  });

  it('that says STOP opts nobody out by itself: a person decides', async () => {
    const desk = await createDesk();
    const contact = phone();
    await speak(desk, contact, 'Stop.');
    const suspicion = await eventually(
      async () => (await desk.call('GET', '/api/opt-outs/suspected?status=open')).body.suspicions[0],
    );
    expect(suspicion).toMatchObject({ address: contact, certainty: 'clear', message: 'Stop.' });
    expect((await desk.call('GET', '/api/opt-outs')).body.optOuts).toEqual([]);
    expect(await autoReplies(desk)).toEqual([]);
  });

  it('that they have withdrawn before it was written down is neither shown nor answered', async () => {
    const desk = await createDesk({ mode: 'off' });
    const [contact, other] = [phone(), phone()];
    const carrierMessageId = await speak(desk, contact, 'Forget it');
    await eventually(async () => (await stateOf(desk)) !== null);
    const unsent = { kind: 'unsent', eventId: newId(), carrierMessageId, at: new Date() } as const;
    expect(await callBack(app, desk.lineId, unsent)).toBe(200);
    await desk.call('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update attachments set transcribe_at = now() where workspace_id = ${desk.workspace.id}`),
    );
    await speak(desk, other, 'Forget it');
    await draftFor(desk, other);
    expect((await lastOf(desk, contact)).transcript).toBeNull();
    expect(await autoReplies(desk)).toHaveLength(1);
  });

  it('that they have withdrawn is not read by the copilot any more', async () => {
    const desk = await createDesk();
    const contact = phone();
    const carrierMessageId = await speak(desk, contact, 'It costs me my house');
    await draftFor(desk, contact);
    const unsent = { kind: 'unsent', eventId: newId(), carrierMessageId, at: new Date() } as const;
    expect(await callBack(app, desk.lineId, unsent)).toBe(200);
    const question = `Is it blue ${newId()}?`;
    await receiveReply(desk, contact, question);
    await draftFor(desk, contact);
    const requests = JSON.stringify(await modelRequestsAbout(desk, question));
    expect(requests).toContain(question);
    expect(requests).not.toContain('my house');
  });

  it('that is no audio, or that nobody may pay for, stays as it is', async () => {
    const [broken, poor] = [await createDesk(), await createDesk()];
    await poor.call('PUT', '/api/workspace', { aiTokensPerDay: 1 });
    const other = phone();
    await speak(poor, other, 'Hello');
    // The budget is used up by the first call.
    expect(await heard(poor, other)).toBe('Hello');
    const contact = phone();
    await speak(broken, contact, 'Hello', Buffer.from('#EXTM3U\nfile:///etc/passwd\n'));
    await eventually(async () => (await stateOf(broken))?.tries === 1);
    expect(await stateOf(broken)).toEqual({ transcript: null, due: false, tries: 1 });
    expect(await lastOf(broken, contact)).toMatchObject({
      transcript: null,
      attachments: [{ name: 'note.wav' }],
    });
    const late = phone();
    await speak(poor, late, 'Hello');
    await eventually(async () => (await lastOf(poor, late))?.attachments.length === 1);
    const calls = async () =>
      (await (await fetch(`${app.url}/simulated/model/transcriptions`)).json()) as object;
    const before = await calls();
    await eventually(async () => (await lastOf(poor, late)) !== undefined);
    expect(await calls()).toEqual(before);
    expect((await lastOf(poor, late)).transcript).toBeNull();
  });

  it('is not sent to a model while the copilot is off, and is forgotten with the contact', async () => {
    const desk = await createDesk({ mode: 'off' });
    const silent = phone();
    await speak(desk, silent, 'Hello');
    await eventually(async () => (await stateOf(desk)) !== null);
    expect(await stateOf(desk)).toMatchObject({ due: false, tries: 0 });

    const own = await createDesk();
    const contact = phone();
    const leadId = await createLead(app, own.workspace.id, { phones: [contact] });
    await speak(own, contact, 'My secret');
    expect(await heard(own, contact)).toBe('My secret');
    expect((await own.call('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    const TextRow = z.object({ transcript: z.string().nullable() });
    await eventually(async () => {
      const [row] = await withSystem(app.pools, (db) =>
        db.any(
          sql.type(TextRow)`select transcript from inbound_messages where workspace_id = ${own.workspace.id}`,
        ),
      );
      return row?.transcript === null;
    });
  });
});
