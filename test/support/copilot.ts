import { expect } from 'vitest';
import type { Channel } from '#domain/base/channel.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';
import { eventually, type TestApp } from './app.ts';
import { phone } from './carrier.ts';
import { type ApiClient, type ApiResponse, apiClient } from './client.ts';
import { createLine, createWorkspace, type TestWorkspace } from './factories.ts';
import { callBack, replyEvent } from './inbound.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * A workspace with a line, a copilot without a debounce, and a webhook for all events about drafts. By default the line is
 * for SMS: over iMessage an answer waits until the line has typed it, a second for twelve characters.
 */
export interface Copilot {
  app: TestApp;
  receiver: Endpoint;
  workspace: TestWorkspace;
  lineId: string;
  call: ApiClient;
}

const EVENTS = ['message.sent', 'message.ai_draft', 'message.ai_draft_approved', 'message.ai_draft_rejected'];

export async function createCopilot(
  app: TestApp,
  receiver: Endpoint,
  knowledge: object = {},
  channel: Channel = 'sms',
): Promise<Copilot> {
  const workspace = await createWorkspace(app);
  const lineId = await createLine(app, workspace.id, channel);
  const call = apiClient(app.url, workspace.key);
  await call('POST', '/api/webhooks', { name: 'drafts', url: receiver.url, events: EVENTS });
  const { status } = await call('PUT', '/api/knowledge-base', {
    mode: 'copilot',
    debounceSeconds: 0,
    ...knowledge,
  });
  expect(status).toBe(200);
  return { app, receiver, workspace, lineId, call };
}

export async function receiveReply(
  { app, lineId }: Copilot,
  from: string,
  text: string,
  fields = {},
): Promise<void> {
  const event = replyEvent(from, text, fields);
  // A busy API may answer 503, and carriers repeat what was not taken in.
  await eventually(async () => (await callBack(app, lineId, event)) === 200);
}

export const autoReplies = async ({ call }: Copilot, query = '') =>
  (await call('GET', `/api/knowledge-base/auto-replies?limit=200${query}`)).body.autoReplies;

/** The newest draft for a contact in a given status. */
export const draftFor = (desk: Copilot, contact: string, status = 'drafted') =>
  eventually(async () =>
    (await autoReplies(desk, `&status=${status}`)).find(
      ({ conversationRecipient }: { conversationRecipient: string }) => conversationRecipient === contact,
    ),
  );

export async function createDraft(desk: Copilot, contact = phone(), text = 'Is it still free?') {
  await receiveReply(desk, contact, text);
  return draftFor(desk, contact);
}

export const decideDraft = (
  desk: Copilot,
  replyId: string,
  action: string,
  fields = {},
): Promise<ApiResponse> =>
  desk.call('POST', '/api/knowledge-base/auto-replies', { replyId, action, ...fields });

export const eventsOf = (desk: Copilot, event: string) =>
  desk.receiver.received
    .map(({ json: payload }) => payload)
    .filter((payload) => payload.event === event && payload.workspaceId === desk.workspace.id);

export const messagesOf = async ({ call }: Copilot) =>
  (await call('GET', '/api/messages?limit=200')).body.messages;

/** Waits for a draft's workflow to end. @returns its details as shown to operators. */
export async function waitForEnd({ app }: Copilot, replyId: string): Promise<string> {
  const handle = app.temporal.workflow.getHandle(aiDraftId(replyId));
  // The workflow starts after the response to the carrier.
  await eventually(async () => handle.describe());
  await handle.result();
  return JSON.stringify(await handle.query('__temporal_workflow_metadata'));
}

export async function replyIdOf(desk: Copilot, contact: string): Promise<string> {
  const { body } = await desk.call('GET', '/api/replies?limit=200');
  return body.replies.find(({ recipientPhone }: { recipientPhone: string }) => recipientPhone === contact)
    .messageId;
}

export async function modelRequestsAbout(
  { app }: Pick<Copilot, 'app'>,
  text: string,
): Promise<{ messages: { role: string; content: string }[] }[]> {
  const response = await fetch(`${app.url}/simulated/model/requests?contains=${encodeURIComponent(text)}`);
  const { requests } = (await response.json()) as {
    requests: { messages: { role: string; content: string }[] }[];
  };
  return requests;
}
