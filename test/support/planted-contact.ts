import { newId } from '#domain/base/ids.ts';
import { eventually, type TestApp } from './app.ts';
import { phone } from './carrier.ts';
import { type ApiClient, apiClient } from './client.ts';
import type { Endpoint } from './endpoint.ts';
import { createLine, createWorkspace, type TestWorkspace } from './factories.ts';
import { PNG, uploaded } from './files.ts';
import { callBack, replyEvent, writeIn } from './inbound.ts';

/** A contact whose name, number, address and texts are unique. */
export interface Person {
  phone: string;
  email: string;
}

/** Strings that identify the person. All planted texts and names contain one of them. */
export const traces = (person: Person): string[] => [
  'zebulon',
  'quixworth',
  'plugh',
  person.phone,
  person.phone.slice(2),
  person.email,
];

/** A person who reacts to messages with a heart. */
export const newPerson = (): Person => {
  const number = phone('0006');
  return { phone: number, email: `zq${number.slice(1)}@person.example` };
};

/** A workspace with data about a person in every place where a contact can leave data. */
export interface Planted {
  workspace: TestWorkspace;
  api: ApiClient;
  lineId: string;
  person: Person;
  listId: string;
  importId: string;
  leadId: string;
  /** The same person in another list. */
  otherLeadId: string;
  campaignId: string;
  /** Messages by what happened to them. */
  messages: Record<'delivered' | 'scheduled' | 'fallback', string>;
  replyId: string;
  uploadUrl: string;
  /** The request that created the delivered message. */
  retry: { key: string; body: object };
}

const EVENTS = [
  'message.sent',
  'message.failed',
  'message.fallback',
  'message.opened',
  'message.reply',
  'message.reaction',
  'message.ai_draft',
];

/** @param fields columns of the workspace that differ from the defaults. */
export async function plantContact(
  app: TestApp,
  receiver: Endpoint,
  person: Person,
  fields: Parameters<typeof createWorkspace>[1] = {},
): Promise<Planted> {
  const workspace = await createWorkspace(app, fields);
  const lineNumber = phone('2222');
  const lineId = await createLine(app, workspace.id, 'imessage', { phone: lineNumber });
  const api = apiClient(app.url, workspace.key);
  const post = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const { status, body: response } = await api('POST', path, body, headers);
    if (status >= 300) throw new Error(`POST ${path} failed with ${status}: ${JSON.stringify(response)}`);
    return response;
  };
  await post('/api/webhooks', { name: 'all', url: receiver.url, events: EVENTS });
  await api('PATCH', '/api/email-preferences', { reply: { enabled: true, mode: 'all' } });
  await api('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
  await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });

  const list = (await post('/api/lists', { name: 'Imported' })).list._id;
  const csv = [
    'First Name,Last Name,Email,Phone,Company,Quirk',
    `Zebulon,Quixworth,${person.email},${person.phone},Plugh Corp,plugh quirk`,
    `Zebulon,Quixworth,not an address,(${person.phone.slice(2, 5)}) ${person.phone.slice(5, 8)}-${person.phone.slice(8)},,plugh rejected`,
  ].join('\r\n');
  const { importId } = await post(`/api/lists/${list}/import`, csv, { 'content-type': 'text/csv' });
  await eventually(
    async () => (await api('GET', `/api/lists/${list}/imports/${importId}`)).body.status === 'completed',
  );
  const leadId = (await api('GET', `/api/leads?listId=${list}`)).body.leads[0]._id;
  const other = (await post('/api/lists', { name: 'Other' })).list._id;
  const lead = { firstName: 'Zeb', lastName: 'Quixworth', phone: person.phone, notes: 'plugh notes' };
  const [otherLeadId] = (
    await post('/api/leads', { listId: other, leads: [lead] }, { 'Idempotency-Key': newId() })
  ).leadIds;

  const uploadUrl = await uploaded(app, workspace.key, { name: 'plugh-picture.png', content: PNG });
  const message = { leadId, recipientPhone: person.phone, recipientName: 'Zebulon Quixworth' };
  const retry = {
    key: newId(),
    body: {
      ...message,
      message: 'plugh one {{ firstName }} {{ customFields.Quirk }}',
      attachmentUrls: [uploadUrl],
      attachmentNames: ['plugh-name.png'],
      correlationId: 'plugh-correlation',
      crmAContactId: 'plugh-crm',
    },
  };
  const sent = await post('/api/messages', retry.body, { 'Idempotency-Key': retry.key });
  const scheduled = await post('/api/messages', {
    ...message,
    message: 'plugh later',
    scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const fallback = await post('/api/messages', {
    ...message,
    message: 'plugh primary',
    smsFallbackMessage: 'plugh fallback',
    forceFallback: true,
  });
  await post('/api/drip', { recipientPhone: person.phone, message: 'plugh drip' });
  // The template of a campaign is not personal data, but a rendered message is.
  const steps = [{ message: 'Step one, {{ firstName }}' }, { message: 'Step two', delay: { days: 2 } }];
  const campaignId = (await post('/api/campaigns', { name: 'Spring', steps, listId: list, start: true }))
    .campaign._id;
  await post('/api/leads/check-availability', { address: person.phone });

  const shown = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
  await eventually(async () => (await shown(sent._id)).reactions.length > 0);
  await eventually(async () => (await shown(fallback._id)).fallbackSmsDispatched);
  await eventually(async () => {
    const { messages } = (await api('GET', `/api/messages?campaignId=${campaignId}`)).body;
    return messages.some(({ status }: { status: string }) => status === 'delivered');
  });

  // The reply supersedes it.
  await post('/api/knowledge-base/drafts', { phone: person.phone, message: 'plugh written draft' });
  await writeIn(app, {
    lineId,
    from: person.phone,
    text: 'plugh reply of Zebulon',
    attachments: [{ name: 'plugh-reply.png', contentType: 'image/png', base64: PNG.toString('base64') }],
  });
  const draft = await eventually(async () =>
    (await api('GET', '/api/knowledge-base/auto-replies')).body.autoReplies.find(
      ({ source }: { source: string }) => source === 'copilot',
    ),
  );
  await post(`/api/conversations/${encodeURIComponent(person.phone)}/tags`, {
    tags: ['interested', 'zebulon the great'],
  });
  const filter = { name: 'This one', view: 'all', search: person.phone, shared: true };
  await post('/api/saved-filters', filter);
  await post(`/api/conversations/${encodeURIComponent(person.phone)}/notes`, {
    text: `plugh note of Zebulon, @[${workspace.ownerId}]`,
  });
  const call = { lineId, from: lineNumber, to: person.phone, seconds: 60, answered: true, recording: true };
  await fetch(`${app.url}/simulated/carrier/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  const number = encodeURIComponent(person.phone);
  await eventually(async () => {
    const { calls } = (await api('GET', `/api/voice/recordings?number=${number}&withRecordingOnly=true`))
      .body;
    return calls.length > 0;
  });
  // A reaction to an unknown message stays pending.
  await callBack(app, lineId, {
    kind: 'reaction',
    eventId: newId(),
    at: new Date(),
    carrierMessageId: newId(),
    reaction: 'love',
    removed: false,
    from: person.phone,
  });
  await callBack(
    app,
    lineId,
    replyEvent(person.email, 'plugh away', {
      autoReply: true,
      wholeText: 'plugh away\n\n> plugh quoted',
    }),
  );
  await post('/api/consents', { address: person.phone, status: 'granted', evidence: 'plugh form' });
  await post('/api/opt-outs', { address: person.email });
  await eventually(async () => {
    const mails = await fetch(`${app.url}/simulated/mail?to=${workspace.ownerId}@example.test`);
    return ((await mails.json()) as { count: number }).count > 0;
  });
  return {
    workspace,
    api,
    lineId,
    person,
    listId: list,
    importId,
    leadId,
    otherLeadId,
    campaignId,
    messages: { delivered: sent._id, scheduled: scheduled._id, fallback: fallback._id },
    replyId: draft.replyId,
    uploadUrl,
    retry,
  };
}
