import { TypedSearchAttributes } from '@temporalio/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { updateWorkflow } from '#providers/temporal.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import type { TwilioOffer, TwilioService } from '#simulator/twilio-numbers.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';
import { DANA } from '#test/support/operators.ts';
import { charged, pay } from '#test/support/payments.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { WORKSPACE_ID } from '#workflows/protocol/search-attributes.ts';
import { giveUp } from '#workflows/protocol/updates.ts';
import { lineRequestId } from '#workflows/protocol/workflow-ids.ts';

const PATH = '/api/line-requests';
const SMS = { firstName: 'Ada', lastName: 'Lovelace', channelType: 'sms' };

let twilio: TwilioStandIn;
let app: OwnApp;
let serial = 0;

beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  app = await startTestApp({
    environment: {
      TWILIO_API_URL: twilio.url,
      TWILIO_ACCOUNT_SID: TWILIO_ACCOUNT.sid,
      TWILIO_AUTH_TOKEN: TWILIO_ACCOUNT.authToken,
    },
  });
});
afterAll(async () => {
  await app.stop();
  await twilio.stop();
});
afterEach(() => {
  twilio.offers.length = 0;
  twilio.purchaseFault = null;
});

/** A number that can be bought, of an area code of its own. */
function offer(fields: Partial<TwilioOffer> = {}): { number: string; areaCode: string } {
  serial += 1;
  const areaCode = String(300 + serial);
  const number = `+1${areaCode}5550100`;
  twilio.offers.push({ number, country: 'US', kind: 'Local', ...fields });
  return { number, areaCode };
}
const request = async (api: ApiClient, fields: object) => {
  const { status, body } = await api('POST', PATH, { ...SMS, ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.line._id as string;
};
const reaches = (api: ApiClient, id: string, status: string) =>
  eventually(async () => {
    const { body } = await api('GET', `${PATH}/${id}`);
    return body.status === status && body;
  });
const readiness = async ({ url }: { url: string }): Promise<unknown> => {
  const response = await fetch(`${url}/readyz`);
  expect(response.status).toBe(200);
  return response.json();
};
const purchasesOf = (number: string) => twilio.bought.filter((one) => one === number).length;
const isReleased = (number: string) => eventually(async () => twilio.released.includes(number));

/** A line with a bought number, in one of the two workspaces of an agency. */
async function boughtByAgency() {
  const agency = await createAgency(app);
  const [from, to] = [
    await createWorkspace(app, { agency_id: agency.id }),
    await createWorkspace(app, { agency_id: agency.id }),
  ];
  const { number, areaCode } = offer();
  const id = await request(from.api, { areaCode });
  await reaches(from.api, id, 'active');
  const owner = await sessionClient(app, { userId: agency.ownerId });
  return { from, to, owner, id, number };
}

describe('a purchased SMS line', () => {
  it('gets a number of the area code at Twilio, sends from it, and hears replies', async () => {
    const { api } = await createWorkspace(app);
    const { number, areaCode } = offer();
    const id = await request(api, { areaCode });
    await reaches(api, id, 'active');
    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    expect(lines).toMatchObject([{ _id: id, phone: number, healthCheck: { status: 'healthy' } }]);
    const callbackUrl = `${app.config.publicUrl}/callbacks/carriers/twilio-operator/${id}`;
    expect(twilio.numbers.get(number)).toMatchObject({ smsUrl: callbackUrl, smsMethod: 'POST' });

    const to = '+14155550188';
    const sent = await api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: to,
      messageType: 'sms',
    });
    await eventually(
      async () => (await api('GET', `/api/messages/${sent.body._id}`)).body.status === 'delivered',
    );
    expect(twilio.sent.find((message) => message.to === to)).toMatchObject({ from: number, body: 'Hello' });
    const reply = { MessageSid: `SM${id}`, From: to, To: number, Body: 'Sounds good' };
    const url = `${app.url}/callbacks/carriers/twilio-operator/${id}`;
    expect((await twilio.receive(url, reply)).status).toBe(200);
    expect(JSON.stringify((await api('GET', '/api/replies')).body)).toContain('Sounds good');
  });

  it('gets a number of another country, of the kind that can send SMS there', async () => {
    const { api } = await createWorkspace(app);
    const number = '+4915155501000';
    twilio.offers.push({ number: '+4930555010', country: 'DE', kind: 'TollFree' });
    offer({ number, country: 'DE', kind: 'Mobile' });
    const id = await request(api, { country: 'DE', areaCode: '0151' });
    await reaches(api, id, 'active');
    expect(purchasesOf(number)).toBe(1);
  });

  it('is bought once if the response of the purchase is lost', async () => {
    const { api } = await createWorkspace(app);
    const { number, areaCode } = offer();
    twilio.offers.push({ number: `+1${areaCode}5550101`, country: 'US', kind: 'Local' });
    twilio.purchaseFault = { kind: 'response_lost' };
    const id = await request(api, { areaCode });
    await reaches(api, id, 'active');
    const bought = twilio.bought.filter((one) => one.startsWith(`+1${areaCode}`));
    expect(bought).toHaveLength(1);
    expect((await api('GET', '/api/lines/by-user')).body.lines[0].phone).toBe(bought[0]);
    expect([number, `+1${areaCode}5550101`]).toContain(bought[0]);
  });

  it('fails with the reason, and costs nothing, if there is no such number', async () => {
    const { api } = await createWorkspace(app);
    offer();
    const id = await request(api, { areaCode: '999' });
    expect((await reaches(api, id, 'failed')).failureReason).toBe(
      'Twilio has no number for SMS with the area code 999 in US',
    );
  });

  it('fails with the reason if Twilio refuses the purchase, and a payment is credited', async () => {
    const agency = await createAgency(app, { billing_mode: 'card' });
    const { id: workspaceId, api } = await createWorkspace(app, { agency_id: agency.id, plan: 'growth' });
    const { areaCode, number } = offer();
    twilio.purchaseFault = { kind: 'error', status: 400, code: 21631 };
    const held = ['Ada', 'Bea'];
    for (const firstName of held) await request(api, { firstName, channelType: 'imessage' });
    const { body } = await api('POST', PATH, { ...SMS, areaCode });
    expect(body).toMatchObject({ paymentRequired: true });
    await pay(body.paymentUrl);
    const failed = await reaches(api, body.line._id, 'failed');
    expect(failed.paymentStatus).toBe('canceled');
    expect(purchasesOf(number)).toBe(0);
    await eventually(async () => (await charged(app, workspaceId)).creditNotes.length === 1);
    const { failureReason } = (await api('GET', `${PATH}/${body.line._id}`)).body;
    expect(failureReason).toBe('Twilio refused the purchase: 21631: The purchase was refused');
  });

  it('can be retried after it failed, with another number', async () => {
    const { api } = await createWorkspace(app);
    twilio.purchaseFault = { kind: 'error', status: 400, code: 21631 };
    const { areaCode, number } = offer();
    const id = await request(api, { areaCode });
    await reaches(api, id, 'failed');
    twilio.purchaseFault = null;
    expect((await api('POST', `${PATH}/${id}`, { action: 'retry' })).status).toBe(200);
    await reaches(api, id, 'active');
    expect(purchasesOf(number)).toBe(1);
  });

  it('has its number released when it is deleted', async () => {
    const agency = await createAgency(app);
    const { api } = await createWorkspace(app, { agency_id: agency.id });
    const { number, areaCode } = offer();
    const id = await request(api, { areaCode });
    await reaches(api, id, 'active');
    const owner = await sessionClient(app, { userId: agency.ownerId });
    const deleted = await owner('POST', '/api/agency/lines', { action: 'delete', lineId: id });
    expect(deleted.status, JSON.stringify(deleted.body)).toBe(200);
    await isReleased(number);
    expect(twilio.numbers.has(number)).toBe(false);
  });

  it('has its number released when an operator gives it up', async () => {
    const { id: workspaceId, api } = await createWorkspace(app);
    const { number, areaCode } = offer();
    twilio.suspended = true;
    const id = await request(api, { areaCode });
    await eventually(async () => purchasesOf(number) === 1);
    await updateWorkflow(app.temporal, { workflowId: lineRequestId(id), workspaceId }, giveUp, DANA);
    expect((await reaches(api, id, 'failed')).failureReason).toBe('given up by the service');
    twilio.suspended = false;
    await isReleased(number);
  });

  it('moves with its number, which the new workspace keeps using', async () => {
    const { to, owner, id, number } = await boughtByAgency();
    const moved = await owner('POST', '/api/agency/lines', {
      action: 'transfer',
      lineId: id,
      targetWorkspaceId: to.id,
    });
    expect(moved.status, JSON.stringify(moved.body)).toBe(200);
    expect((await to.api('GET', '/api/lines/by-user')).body.lines).toMatchObject([
      { _id: id, phone: number },
    ]);
    await owner('POST', '/api/agency/lines', { action: 'delete', lineId: id });
    await isReleased(number);
  });

  it('has its number released after a move also if its run began in the former workspace', async () => {
    const { from, to, owner, id, number } = await boughtByAgency();
    const workflowId = lineRequestId(id);
    // A run that has not ended yet when the line moves hears what is for one of the new workspace.
    await app.stopWorker();
    const move = { action: 'transfer', lineId: id, targetWorkspaceId: to.id };
    expect((await owner('POST', '/api/agency/lines', move)).status).toBe(200);
    const { firstExecutionRunId } = await app.temporal.workflow.start('lineRequest', {
      taskQueue: MAIN_QUEUE,
      workflowId,
      // The move may have started one.
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      args: [{ workspaceId: from.id, subjectId: id }],
      typedSearchAttributes: new TypedSearchAttributes([{ key: WORKSPACE_ID, value: from.id }]),
    });
    await owner('POST', '/api/agency/lines', { action: 'delete', lineId: id });
    await app.startWorker();
    await isReleased(number);
    const began = await app.temporal.workflow.getHandle(workflowId, firstExecutionRunId).describe();
    expect(began.status.name).toBe('CONTINUED_AS_NEW');
    const goesOn = await app.temporal.workflow.getHandle(workflowId).describe();
    expect(goesOn.typedSearchAttributes.get(WORKSPACE_ID)).toBe(to.id);
  });
});

describe('a number of the United States', () => {
  it('is shown as unregistered, unlike one of another country', async () => {
    const { api } = await createWorkspace(app);
    const { areaCode } = offer();
    const id = await request(api, { areaCode });
    expect((await reaches(api, id, 'active')).line.usRegistration).toBe('unregistered');
    const number = '+4915155501009';
    offer({ number, country: 'DE', kind: 'Mobile' });
    const german = await request(api, { country: 'DE', areaCode: '0151' });
    expect((await reaches(api, german, 'active')).line).not.toHaveProperty('usRegistration');
    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    expect(
      Object.fromEntries(
        lines.map((line: { phone: string; usRegistration?: string }) => [line.phone, line.usRegistration]),
      ),
    ).toEqual({
      [`+1${areaCode}5550100`]: 'unregistered',
      [number]: undefined,
    });
  });

  describe('with a messaging service', () => {
    const SERVICE = `MG${'a'.repeat(32)}`;
    let registering: OwnApp;
    beforeAll(async () => {
      registering = await startTestApp({
        environment: {
          TWILIO_API_URL: twilio.url,
          TWILIO_ACCOUNT_SID: TWILIO_ACCOUNT.sid,
          TWILIO_AUTH_TOKEN: TWILIO_ACCOUNT.authToken,
          TWILIO_MESSAGING_SERVICE_SID: SERVICE,
        },
      });
    });
    afterAll(() => registering.stop());

    it('is added to it after the purchase, once, also if a response is lost', async () => {
      const service: TwilioService = {
        numbers: [],
        inboundRequestUrl: null,
        useInboundWebhookOnNumber: true,
      };
      twilio.services.set(SERVICE, service);
      const { numbers } = service;
      const { api } = await createWorkspace(registering);
      const { number, areaCode } = offer();
      twilio.purchaseFault = { kind: 'response_lost' };
      const id = await request(api, { areaCode });
      expect((await reaches(api, id, 'active')).line.usRegistration).toBe('registered');
      expect(numbers).toEqual([number]);
      const german = '+4915155501010';
      offer({ number: german, country: 'DE', kind: 'Mobile' });
      await reaches(api, await request(api, { country: 'DE', areaCode: '0151' }), 'active');
      expect(numbers).toEqual([number]);
    });
  });
});

describe('the account', () => {
  it('is shown as a part that works, and as one that does not', async () => {
    const own = await startTestApp({
      worker: false,
      environment: {
        TWILIO_API_URL: twilio.url,
        TWILIO_ACCOUNT_SID: TWILIO_ACCOUNT.sid,
        TWILIO_AUTH_TOKEN: 'wrong',
      },
    });
    try {
      expect(await readiness(own)).toMatchObject({
        status: 'degraded',
        checks: { twilio: 'failed', postgresql: 'ok', storage: 'ok' },
      });
      expect(await readiness(app)).toMatchObject({ checks: { twilio: 'ok' } });
      const metrics = await (await fetch(`${own.url}/metrics`)).text();
      expect(metrics).toContain('linepace_part_up{part="twilio"} 0');
      expect(metrics).toContain('linepace_part_up{part="storage"} 1');
    } finally {
      await own.stop();
    }
  });
});

describe('a line of the customer’s own', () => {
  it('is not bought', async () => {
    const { api } = await createWorkspace(app);
    const { areaCode, number } = offer();
    const id = await request(api, { areaCode, lineType: 'byo' });
    await reaches(api, id, 'active');
    expect(purchasesOf(number)).toBe(0);
  });

  it('cannot be connected to the account of the operator', async () => {
    const { api } = await createWorkspace(app);
    const id = await request(api, { lineType: 'byo' });
    const { status, body } = await api('PUT', `/api/lines/${id}/carrier`, {
      provider: 'twilio-operator',
      config: {},
    });
    expect([status, body.issues?.[0]?.path]).toEqual([400, 'provider']);
  });
});
