import { newId } from '#domain/base/ids.ts';
import type { TestApp } from './app.ts';
import { insertRow } from './factories.ts';

export const [ADA, BOB, CY, DEE] = ['+14155550001', '+14155550002', '+14155550003', '+14155550004'];
export const LINE = newId();
export const CAMPAIGN = newId();
export const AUTHOR = 'user_0123456789abcdef01234567';
export const NONE = {
  reached: 0,
  sent: 0,
  fallback: 0,
  failed: 0,
  replied: 0,
  uniqueReplied: 0,
  repliedPct: 0,
  positiveReplied: 0,
  positivePct: 0,
};

type Fields = Parameters<typeof insertRow>[2];

/** Inserts a message that was sent at a time in the past. @returns its id. */
export async function outbound(
  app: TestApp,
  workspaceId: string,
  address: string,
  at: string,
  fields: Fields = {},
): Promise<string> {
  const id = newId(new Date(at));
  const status = fields['status'] ?? 'delivered';
  const left = status === 'sent' || status === 'delivered';
  await insertRow(app, 'messages', {
    workspace_id: workspaceId,
    id,
    channel: 'imessage',
    status,
    address,
    recipient_phone: address,
    body: `to ${address}`,
    source: 'api',
    line_id: newId(),
    scheduled_at: new Date(at),
    created_at: new Date(at),
    ...(left && { sent_at: new Date(at) }),
    ...fields,
  });
  return id;
}

/** Inserts a reply that was received at a time in the past. */
export async function inbound(
  app: TestApp,
  workspaceId: string,
  address: string,
  at: string,
  fields: Fields = {},
): Promise<void> {
  await insertRow(app, 'inbound_messages', {
    workspace_id: workspaceId,
    id: newId(new Date(at)),
    line_id: newId(),
    address,
    carrier_message_id: newId(),
    body: `from ${address}`,
    received_at: new Date(at),
    ...fields,
  });
}

/** Inserts a conversation with tags. */
export const tag = (app: TestApp, workspaceId: string, address: string, tags: string[]): Promise<void> =>
  insertRow(app, 'conversations', { workspace_id: workspaceId, address, tags });
