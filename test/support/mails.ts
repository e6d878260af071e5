import { eventually, type TestApp } from './app.ts';
import { apiClient } from './client.ts';

export interface Mail {
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
  receivedAt: string;
}

/** The emails that the simulated mail server has received for an address, oldest first. */
export async function mailsTo(app: TestApp, address: string): Promise<Mail[]> {
  const { body } = await apiClient(app.url, '')('GET', `/simulated/mail?to=${encodeURIComponent(address)}`);
  return body.messages;
}

/** Waits for the first email to an address. */
export const firstMailTo = (app: TestApp, address: string): Promise<Mail> =>
  eventually(async () => (await mailsTo(app, address))[0]);
