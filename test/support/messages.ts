import { expect } from 'vitest';
import { eventually } from './app.ts';
import type { ApiClient } from './client.ts';

/** Sends a message and waits until it is delivered. @returns its id. */
export async function deliverMessage(api: ApiClient, message: object): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', { message: 'Hello', ...message });
  expect(status).toBe(201);
  await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.status === 'delivered');
  return body._id;
}
