import fc from 'fast-check';
import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { contactKey, formsOf } from '#domain/base/contact-key.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers, later, now } from '#test/support/campaigns.ts';
import { sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  api = apiClient(app.url, workspace.key);
});

const { newList, newCampaign, step } = campaignHelpers(() => ({ app, workspace, api }));

const get = async (path: string) => (await api('GET', path)).body;
const isOptedOut = async (address: string): Promise<boolean> =>
  (await get(`/api/opt-outs/${encodeURIComponent(address)}`)).optedOut;
const send = (recipientPhone: string) => api('POST', '/api/messages', { message: 'Hello', recipientPhone });

let numbers = 1000;
/** Two forms of one new number: how it was written, and how the carrier reports it. */
const WORLD: [country: string, pair: (last: string) => [written: string, reported: string]][] = [
  ['Mexico', (last) => [`+5255876${last}1`, `+52155876${last}1`]],
  ['Mexico, with 1', (last) => [`+52155877${last}1`, `+5255877${last}1`]],
  ['Argentina', (last) => [`+541187${last}11`, `+5491187${last}11`]],
  ['Argentina, with 9', (last) => [`+5491188${last}11`, `+541188${last}11`]],
  ['Brazil', (last) => [`+55419888${last}1`, `+5541888${last}1`]],
  ['Brazil, without the ninth digit', (last) => [`+5541887${last}1`, `+55419887${last}1`]],
  ['Ivory Coast', (last) => [`+2250707${last}11`, `+22507${last}11`]],
  ['Benin', (last) => [`+2290197${last}11`, `+22997${last}11`]],
];

describe.each(WORLD)('a number of %s', (_, pair) => {
  const next = () => {
    numbers += 1;
    return pair(String(numbers));
  };

  it('is one contact in a campaign, the inbox and opt-outs, and is called as it was written', async () => {
    const [written, reported] = next();
    const { listId, leadIds } = await newList([{ firstName: 'Ada', phone: written }]);
    const twice = await api('POST', '/api/leads', {
      listId,
      leads: [{ firstName: 'Again', phone: reported }],
    });
    expect(twice.body).toMatchObject({ leadIds: [leadIds[0]] });
    const campaignId = await newCampaign({ listId, steps: [now, later] });
    await api('POST', `/api/campaigns/${campaignId}/start`);
    await step(campaignId, leadIds[0] ?? '', 0, 'sent', 'delivered');
    expect(await sentTo(app, written)).toHaveLength(1);

    await callBack(app, lineId, replyEvent(reported, 'Is it still free?'));
    await step(campaignId, leadIds[0] ?? '', 1, 'canceled');
    for (const form of [written, reported]) {
      const { conversation, messages } = await get(`/api/conversations/${encodeURIComponent(form)}`);
      expect(conversation).toMatchObject({ phone: written, leadId: leadIds[0] });
      expect(messages).toHaveLength(2);
    }

    const answer = await api('POST', '/api/inbox/send-reply', { phone: reported, message: 'It is.' });
    expect(answer.body).toMatchObject({ recipientPhone: written, leadId: leadIds[0] });
    await eventually(async () => (await sentTo(app, written)).length === 2);

    await callBack(app, lineId, replyEvent(reported, 'STOP'));
    await eventually(() => isOptedOut(written));
    expect(await isOptedOut(reported)).toBe(true);
    for (const form of [written, reported])
      expect((await send(form)).body).toMatchObject({
        status: 'failed',
        errorMessage: 'recipient_opted_out',
      });
  });

  it('is one contact for consents, suppressions and erasure', async () => {
    const [written, reported] = next();
    const { leadIds } = await newList([{ firstName: 'Ada', phone: written }]);
    await api('POST', '/api/consents', {
      address: written,
      channel: 'sms',
      status: 'granted',
      source: 'form',
    });
    const { consents } = await get(`/api/consents?address=${encodeURIComponent(reported)}`);
    expect(consents).toHaveLength(1);
    await api('POST', '/api/opt-outs', { address: reported });
    expect((await api('DELETE', `/api/leads/${leadIds[0]}?erase=true`)).status).toBe(202);
    await eventually(async () => {
      const { body } = await send(reported);
      return body.errorMessage === 'recipient_opted_out';
    });
    expect(await isOptedOut(written)).toBe(true);
  });

  it('is answered in the form in which the contact wrote, if nobody has written to it', async () => {
    const [, reported] = next();
    await callBack(app, lineId, replyEvent(reported, 'Hi'));
    const answer = await eventually(async () => {
      const sent = await api('POST', '/api/inbox/send-reply', { phone: reported, message: 'Hello' });
      return sent.status === 201 && sent;
    });
    expect(answer.body.recipientPhone).toBe(reported);
    await eventually(async () => (await sentTo(app, reported)).length === 1);
  });
});

test('the database computes the same key', async () => {
  const number = fc
    .tuple(
      fc.constantFrom('1', '52', '521', '54', '549', '55', '84', '225', '229', '237', '970', '972'),
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 7, maxLength: 11 }),
    )
    .map(([code, digits]) => `+${code}${digits.join('')}`);
  const sample = fc.sample(number, 20_000).flatMap(formsOf);
  const keys = await app.pools.system.anyFirst(sql.type(z.object({ key: z.string() }))`
    select contact_key(n.number) "key" from unnest(${sql.array(sample, 'text')}) with ordinality n (number, position)
    order by position`);
  expect(keys).toEqual(sample.map(contactKey));
});
