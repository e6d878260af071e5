import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { createMailActivities } from '#activities/events/mail.ts';
import { createLogger } from '#providers/log.ts';
import { createMailer } from '#providers/mail/mailer.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

describe("the product's own emails", () => {
  it('are sent once each even if two workers send them at the same time', async () => {
    const { id: workspaceId, key } = await createWorkspace(app);
    const recipients = Array.from({ length: 20 }, (_, index) => `guest-${index}@example.test`);
    for (const email of recipients) {
      const { status } = await apiClient(app.url, key)('POST', '/api/team/invite', {
        email,
        role: 'org:member',
      });
      expect(status).toBe(201);
    }

    const mailer = createMailer({ url: app.smtpUrl, from: app.config.mail.from });
    const worker = () => {
      const { sendMails } = createMailActivities({
        pools: app.pools,
        secrets: createSecretBox(app.config.encryptionKeys),
        mailer,
        logger: createLogger('worker', 'silent'),
      });
      return new MockActivityEnvironment().run(sendMails, { workspaceId });
    };
    await Promise.all([worker(), worker()]);
    await worker();
    await mailer.close();

    const counts = await Promise.all(
      recipients.map(async (to) => {
        const path = `/simulated/mail?to=${encodeURIComponent(to)}`;
        return (await apiClient(app.url, '')('GET', path)).body.messages.length;
      }),
    );
    expect(counts).toEqual(recipients.map(() => 1));
  });
});
