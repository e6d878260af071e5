// The commands of the model contain assertions outside the test that runs them.
// oxlint-disable vitest/no-standalone-expect
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { charged, pay, sendInvoiceEvent } from '#test/support/payments.ts';

const PATH = '/api/line-requests';

/** The state that a customer expects of the one line in a run. */
interface Model {
  status: 'none' | 'awaiting_payment' | 'active' | 'failed' | 'canceled';
  /** Whether the carrier refuses the line. */
  refused: boolean;
}

interface Real {
  api: ApiClient;
  workspaceId: string;
  lineId: string;
  paymentUrl: string;
}

type Command = fc.AsyncCommand<Model, Real>;

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const act = ({ api, lineId }: Real, action: string) => api('POST', `${PATH}/${lineId}`, { action });

/** Waits until the product has reached the expected status by itself. */
async function settle(model: Model, { api, lineId }: Real): Promise<void> {
  if (model.status === 'none') return;
  await eventually(async () => (await api('GET', `${PATH}/${lineId}`)).body.status === model.status);
}

function command(
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
  check: (model: Model) => boolean,
): Command {
  return {
    check,
    async run(model, real) {
      await run(model, real);
      await settle(model, real);
    },
    toString: () => name,
  };
}

const exists = ({ status }: Model): boolean => status !== 'none';
const whenPaid = ({ refused }: Model): Model['status'] => (refused ? 'failed' : 'active');

const request = (refused: boolean): Command =>
  command(
    `request(${refused ? 'refused' : 'provisioned'})`,
    async (model, real) => {
      const email = refused ? 'fail@lines.example' : 'ada@lines.example';
      const { status, body } = await real.api('POST', PATH, {
        firstName: 'Ada',
        lastName: 'L',
        channelType: 'email',
        email,
      });
      expect(status).toBe(201);
      Object.assign(real, { lineId: body.line._id, paymentUrl: body.paymentUrl });
      Object.assign(model, { status: 'awaiting_payment', refused });
    },
    ({ status }) => status === 'none',
  );

const requestAgain = command(
  'request again',
  async (_, { api, lineId }) => {
    const { body } = await api('POST', PATH, { firstName: 'Ada', lastName: 'L', channelType: 'email' });
    expect(body).toMatchObject({ code: 'PAYMENT_PENDING', lineId });
  },
  ({ status }) => status === 'awaiting_payment',
);

/** Also pays late: after a cancellation or a second time. */
const payNow = command(
  'pay',
  async (model, { paymentUrl }) => {
    const [first] = await Promise.all([pay(paymentUrl), pay(paymentUrl)]);
    expect(first.status).toBe(200);
    if (model.status === 'awaiting_payment') model.status = whenPaid(model);
  },
  exists,
);

/** Repeats the callbacks of all payments so far, under other event ids. */
const repeatCallbacks = command(
  'repeat callbacks',
  async (_, { workspaceId, lineId }) => {
    const { invoices } = await charged(app, workspaceId);
    for (const { id, status, metadata } of invoices) {
      if (status !== 'paid') continue;
      const fact = { workspaceId, lineId, invoiceId: id, round: Number(metadata['round']) };
      const responses = await Promise.all([
        sendInvoiceEvent(app, { ...fact, type: 'invoice.paid' }),
        sendInvoiceEvent(app, { ...fact, type: 'invoice.payment_failed' }),
      ]);
      expect(responses.map((response) => response.status)).toEqual([200, 200]);
    }
  },
  exists,
);

const cancel = command(
  'cancel',
  async (model, real) => {
    const allowed = model.status === 'awaiting_payment';
    expect((await act(real, 'cancel')).status).toBe(allowed ? 200 : 409);
    if (allowed) model.status = 'canceled';
  },
  exists,
);

const retry = command(
  'retry',
  async (model, real) => {
    // The credit of the failed attempt pays for the retry.
    expect((await act(real, 'retry')).status).toBe(model.status === 'failed' ? 200 : 409);
  },
  exists,
);

const link = command(
  'payment link',
  async (model, real) => {
    const { status, body } = await act(real, 'payment_link');
    expect(status).toBe(model.status === 'awaiting_payment' ? 200 : 409);
    if (status === 200) expect(body.paymentUrl).toBe(real.paymentUrl);
  },
  exists,
);

test('a line request follows the model over HTTP and never keeps a payment without a line', async () => {
  const commands = fc.commands(
    [
      fc.boolean().map(request),
      ...[requestAgain, payNow, repeatCallbacks, cancel, retry, link].map(fc.constant),
    ],
    {
      maxCommands: 10,
      size: 'max',
    },
  );
  await fc.assert(
    fc.asyncProperty(commands, async (chosen) => {
      const { id: workspaceId, key } = await createWorkspace(app);
      const real: Real = { api: apiClient(app.url, key), workspaceId, lineId: '', paymentUrl: '' };
      const model: Model = { status: 'none', refused: false };
      await fc.asyncModelRun(() => ({ model, real }), chosen);
      await eventually(async () => {
        const { invoices, creditNotes } = await charged(app, workspaceId);
        const kept = invoices.filter(({ status }) => status === 'paid').length - creditNotes.length;
        const open = invoices.filter(({ status }) => status === 'open').length;
        return (
          kept === (model.status === 'active' ? 1 : 0) &&
          open === (model.status === 'awaiting_payment' ? 1 : 0)
        );
      });
    }),
    { numRuns: 15 },
  );
});
