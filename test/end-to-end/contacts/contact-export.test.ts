import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ContactExport } from '#domain/contacts/contact-export.ts';
import { newId } from '#domain/base/ids.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace, createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { PNG } from '#test/support/files.ts';
import { newPerson, plantContact, type Planted, traces } from '#test/support/planted-contact.ts';
import { auditLogOf } from '#test/support/sessions.ts';

let app: TestApp;
let receiver: Endpoint;
let planted: Planted;
beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
  planted = await plantContact(app, receiver, newPerson());
});
afterAll(async () => {
  await receiver.close();
});

describe('the export of a contact', () => {
  it('contains the first and the last texts of a reply that was edited without end', async () => {
    const { api, lineId } = await createWorkspaceWithLine(app);
    const from = phone();
    const reply = replyEvent(from, 'text 0');
    const { carrierMessageId } = reply;
    const first = Date.now() - 60_000;
    const edits = Array.from({ length: 30 }, (_, index) => ({
      kind: 'edited' as const,
      eventId: newId(),
      carrierMessageId,
      text: `text ${index + 1}`,
      at: new Date(first + index * 1000),
    }));
    await callBack(app, lineId, { ...reply, at: new Date(first - 1000) }, ...edits);
    const { leadIds } = (await api('POST', '/api/leads', { leads: [{ phone: from }] })).body;
    const [stored] = (await api('GET', `/api/leads/${leadIds[0]}/export`)).body.replies;
    expect(stored.message).toBe('text 30');
    expect(stored.formerTexts.map(({ text }: { text: string }) => text)).toEqual([
      'text 0',
      ...Array.from({ length: 19 }, (_, index) => `text ${index + 11}`),
    ]);
  });

  it('contains everything that is stored about the contact and matches its schema', async () => {
    const { api, person, leadId, otherLeadId, campaignId, messages, replyId } = planted;
    const { status, headers, body } = await api('GET', `/api/leads/${otherLeadId}/export`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/json');
    const text = JSON.stringify(body).toLowerCase();
    expect(traces(person).filter((trace) => !text.includes(trace.toLowerCase()))).toEqual([]);
    const found = ContactExport.parse(body);
    expect(found.addresses.toSorted()).toEqual([person.phone, person.email].toSorted());
    expect(found.leads.map(({ _id, lists }) => [_id, lists.map(({ name }) => name)])).toEqual([
      [leadId, ['Imported']],
      [otherLeadId, ['Other']],
    ]);
    expect(found.leads[0]?.customFields).toEqual({ Quirk: 'plugh quirk' });
    expect(found.optOuts).toMatchObject([{ address: person.email, source: 'api' }]);
    expect(found.conversations.map(({ tags }) => tags)).toContainEqual(['interested', 'zebulon the great']);
    expect(found.availability).toMatchObject([{ address: person.phone }]);
    expect(found.campaigns).toMatchObject([{ campaignId, leadId, name: 'Spring' }]);
    expect(found.rejectedRows).toMatchObject([{ fields: { Quirk: 'plugh rejected' } }]);
    const texts = found.messages.map(({ message }) => message);
    expect(texts).toEqual(
      expect.arrayContaining([
        'plugh one Zebulon plugh quirk',
        'plugh later',
        'plugh fallback',
        'plugh drip',
        'Step one, Zebulon',
        'Step two',
      ]),
    );
    const delivered = found.messages.find(({ _id }) => _id === messages.delivered);
    expect(delivered).toMatchObject({
      correlationId: 'plugh-correlation',
      crmAContactId: 'plugh-crm',
      reactions: [{ reaction: 'love', from: person.phone }],
      attempts: [{ kind: 'primary', address: person.phone, outcome: 'accepted' }],
    });
    expect(found.replies).toMatchObject([
      { messageId: replyId, message: 'plugh reply of Zebulon', attachments: [{ name: 'plugh-reply.png' }] },
      { address: person.email, message: 'plugh away', autoReply: true },
    ]);
    const file = await fetch(found.replies[0]?.attachments[0]?.url ?? '');
    expect(Buffer.from(await file.arrayBuffer()).equals(PNG)).toBe(true);
    expect(found.drafts).toMatchObject([
      { draftMessage: 'plugh written draft' },
      { replyId, inboundText: 'plugh reply of Zebulon' },
    ]);
    expect(found.calls).toMatchObject([{ to: person.phone, recordingUrl: expect.any(String) }]);
    const events = found.events.filter(({ deliveries }) => deliveries.length === 1).map(({ event }) => event);
    expect(events).toEqual(
      expect.arrayContaining(['message.sent', 'message.reply', 'message.reaction', 'message.ai_draft']),
    );
  });

  it('contains replies that may have asked to be left alone', async () => {
    const { api, lineId } = await createWorkspaceWithLine(app);
    const from = phone();
    const { leadIds } = (await api('POST', '/api/leads', { leads: [{ firstName: 'Ada', phone: from }] }))
      .body;
    await callBack(app, lineId, replyEvent(from, 'Please take me off your list', { at: new Date() }));
    const { body } = await api('GET', `/api/leads/${leadIds[0]}/export`);
    expect(body.suspectedOptOuts).toMatchObject([
      { address: from, message: 'Please take me off your list', status: 'open' },
    ]);
  });

  it('covers its own workspace only and is recorded in the audit log', async () => {
    const stranger = apiClient(app.url, (await createWorkspace(app)).key);
    expect((await stranger('GET', `/api/leads/${planted.leadId}/export`)).status).toBe(404);
    expect((await planted.api('GET', `/api/leads/${newId()}/export`)).status).toBe(404);
    const exports = await auditLogOf(app, planted.workspace, { action: 'contact.exported' });
    expect(exports.map(({ target, changes }) => [target.id, changes])).toEqual([[planted.otherLeadId, {}]]);
  });

  it('does not include another contact of the same name', async () => {
    const { api, person } = planted;
    const twin = { firstName: 'Zebulon', lastName: 'Quixworth', phone: newPerson().phone };
    const { leadIds } = (await api('POST', '/api/leads', { leads: [twin] })).body;
    const { body } = await api('GET', `/api/leads/${leadIds[0]}/export`);
    expect(body).toMatchObject({ addresses: [twin.phone], leads: [{ _id: leadIds[0] }], messages: [] });
    expect(JSON.stringify(body)).not.toContain(person.phone);
  });
});
