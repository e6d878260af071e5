import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { linePacerId } from '../../../workflows/protocol/workflow-ids.ts';
import { connected } from '../../../db/connection/connected.ts';
import { createLine } from '../../../test/support/factories.ts';
import { startEndpoint } from '../../../test/support/endpoint.ts';
import { startMailbox } from '../../../test/support/mailbox.ts';
import { TWILIO_ACCOUNT } from '../../../test/support/twilio.ts';
import { until } from '../../bench/support/waiting.ts';
import type { Scene } from './scene.ts';

type Tells = () => Promise<boolean>;

export interface Fault {
  name: string;
  text: string;
  /** The alerts that have to fire. */
  alerts: readonly string[];
  /** Everything is right until `begin`. `end` undoes the fault, and may return what says that it is over. */
  prepare(scene: Scene): Promise<{
    places: Record<string, Tells>;
    /** @returns from when the seconds count, if not from its call on. */
    begin(): Promise<number | void>;
    end(): Promise<Tells | void>;
  }>;
}

const SEEN_MS = 40_000;

let numbers = 0;
const newPhone = (): string => `+1212${String((numbers += 1)).padStart(3, '0')}0100`;

/** A workspace with a line of Twilio behind a way in which somebody else can answer, and ways to send by it. */
async function twilioLine(scene: Scene) {
  const tenant = await scene.createTenant();
  const lineId = await createLine({ pools: scene.pools, url: scene.config.publicUrl }, tenant.id, 'sms', {
    min_gap_seconds: 5,
  });
  const front = await scene.frontOfTwilio();
  const { sid: accountSid, authToken } = TWILIO_ACCOUNT;
  const config = { accountSid, authToken, baseUrl: front.url };
  const { status, body } = await tenant.call('PUT', `/api/lines/${lineId}/carrier`, {
    provider: 'twilio',
    config,
  });
  if (status !== 200) throw new Error(`the line was not connected: ${JSON.stringify(body)}`);
  const send = () =>
    tenant.call('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: newPhone(),
      fromLineId: lineId,
      messageType: 'sms',
    });
  const statusOf = async (id: string) =>
    (await tenant.call('GET', `/api/messages/${id}`)).body.status as string;
  const first = await send();
  await until(async () => ['sent', 'delivered'].includes(await statusOf(first.body._id)));
  // Alerts of news compare with what Prometheus has seen of the carrier.
  if (scene.hasAlerts) await pause(SEEN_MS);
  return {
    front,
    lineId,
    send,
    places: {
      'State blocked': async () => (await scene.stateOf(linePacerId(lineId))) === 'blocked',
      'blocked of the line': async () =>
        (await tenant.call('GET', '/api/lines/by-user')).body.lines.find(
          ({ _id }: { _id: string }) => _id === lineId,
        )?.blocked !== null,
      linepace_carrier_lines: () =>
        scene.measures(
          'worker',
          'linepace_carrier_lines{carrier="twilio",state="blocked"}',
          (value) => value > 0,
        ),
    },
    isSent: async (id: string) => ['sent', 'delivered'].includes(await statusOf(id)),
    resume: () => tenant.call('POST', `/api/lines/${lineId}/resume`, {}),
  };
}

/** A fault of the way to a carrier: messages wait meanwhile. */
const carrierFault = (
  name: string,
  text: string,
  outage: { status: number; html: string } | 'hangs' | { status: number; body: object },
  alerts: readonly string[] = ['LinepaceCarrierRefuses'],
): Fault => ({
  name,
  text,
  alerts,
  async prepare(scene) {
    const line = await twilioLine(scene);
    let last = '';
    return {
      places: line.places,
      async begin() {
        if (typeof outage === 'object' && 'body' in outage) line.front.refusal = outage;
        else line.front.outage = outage;
        for (let n = 0; n < 12; n += 1) last = (await line.send()).body._id;
      },
      async end() {
        line.front.outage = line.front.refusal = null;
        await line.resume();
        return () => line.isSent(last);
      },
    };
  },
});

const readiness = (scene: Scene, check: string): Record<string, Tells> => ({
  'readyz of the API': () => scene.isNotReady('api', check),
  'readyz of the worker': () => scene.isNotReady('worker', check),
  [`linepace_ready{check="${check}"}`]: () =>
    scene.measures('api', `linepace_ready{check="${check}"}`, (value) => value === 0),
});

/** A message that arrives while everything is down is sent afterwards. */
async function simulatedLine(scene: Scene) {
  const { call, id, lineId } = await scene.createTenant();
  const send = () => call('POST', '/api/messages', { message: 'Hello', recipientPhone: newPhone() });
  const isSent = async (message: string) =>
    ['sent', 'delivered'].includes((await call('GET', `/api/messages/${message}`)).body.status);
  const first = await send();
  await until(() => isSent(first.body._id));
  return { call, id, lineId, send, isSent };
}

const sendsAgain = (line: Awaited<ReturnType<typeof simulatedLine>>): Tells => {
  let id: string | undefined;
  return async () => {
    id ??= (await line.send()).body._id as string | undefined;
    return id !== undefined && line.isSent(id);
  };
};

/** In the order of docs/operators.md. */
export const FAULTS: readonly Fault[] = [
  carrierFault('credentials', 'the carrier answers 401 for one line', {
    status: 401,
    body: { code: 20003, message: 'Authenticate', status: 401 },
  }),
  carrierFault('tunnel', 'somebody else answers for the carrier: 404 in HTML', {
    status: 404,
    html: '<!doctype html><title>The endpoint is offline</title>',
  }),
  carrierFault('hang', 'the carrier accepts connections and does not answer', 'hangs', [
    'LinepaceCarrierUnanswered',
  ]),
  {
    name: 'primary',
    text: 'the host of the primary vanishes, without a FIN',
    alerts: ['LinepaceNotReady'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      return {
        places: readiness(scene, 'postgresql'),
        begin: async () => void scene.hole.swallow({ andNew: true }),
        async end() {
          // The new primary answers.
          scene.hole.swallow({ andNew: false });
          return sendsAgain(line);
        },
      };
    },
  },
  {
    name: 'temporal',
    text: 'Temporal hangs',
    alerts: ['LinepaceNotReady'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      let id = '';
      return {
        places: {
          ...readiness(scene, 'temporal'),
          linepace_waiting_wakes: () => scene.measures('api', 'linepace_waiting_wakes', (value) => value > 0),
        },
        async begin() {
          process.kill(scene.pids.temporal, 'SIGSTOP');
          id = (await line.send()).body._id;
        },
        async end() {
          process.kill(scene.pids.temporal, 'SIGCONT');
          return () => line.isSent(id);
        },
      };
    },
  },
  {
    name: 'poison',
    text: 'a task always throws: a trigger refuses what it writes',
    alerts: ['LinepaceWorkFails'],
    async prepare(scene) {
      const { call } = await simulatedLine(scene);
      const list = await call('POST', '/api/lists', { name: 'Poison' });
      const run = (text: string) => connected(scene.ownerUrl, (client) => client.query(text));
      return {
        places: {
          linepace_failing_work: () =>
            scene.measures('worker', 'linepace_failing_work', (value) => value > 0),
        },
        async begin() {
          await run(`create function poison() returns trigger language plpgsql as $$ begin raise exception 'poison'; end $$;
            create trigger poison before update on lead_imports for each row execute function poison()`);
          const csv = 'firstName,email\nAda,ada@example.com\n';
          await call('POST', `/api/lists/${list.body.list._id}/import`, csv, { 'content-type': 'text/csv' });
        },
        async end() {
          await run('drop trigger poison on lead_imports; drop function poison');
        },
      };
    },
  },
  {
    name: 'read-only',
    text: 'PostgreSQL takes no writes, as a primary that was demoted',
    alerts: ['LinepaceApiFails'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      let load: NodeJS.Timeout | undefined;
      const alter = (is: 'on' | 'off') =>
        connected(scene.ownerUrl, async (client) => {
          await client.query('set default_transaction_read_only = off');
          await client.query(`alter system set default_transaction_read_only = ${is}`);
          await client.query('select pg_reload_conf()');
        });
      return {
        places: { 'the answer 503': async () => (await line.send()).status === 503 },
        async begin() {
          await alter('on');
          load = setInterval(() => line.send().catch(() => {}), 500);
        },
        async end() {
          clearInterval(load);
          await alter('off');
          return sendsAgain(line);
        },
      };
    },
  },
  {
    name: 'keys',
    text: 'API and worker are started with another encryption key',
    alerts: ['LinepaceNotReady'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      const restart = async (overrides: object) => {
        await Promise.all([scene.stopPart('api'), scene.stopPart('worker')]);
        await Promise.all([scene.start('api', overrides), scene.start('worker', overrides)]);
      };
      return {
        places: readiness(scene, 'keys'),
        async begin() {
          await restart({ encryptionKeys: `other:${randomBytes(32).toString('base64')}` });
          // Since they run: a start takes long on a busy machine.
          return performance.now();
        },
        async end() {
          await restart({});
          return sendsAgain(line);
        },
      };
    },
  },
  {
    name: 'endpoint',
    text: "a customer's endpoint answers 503",
    alerts: ['LinepaceWebhooksFail'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      const endpoint = await startEndpoint();
      const { body } = await line.call('POST', '/api/webhooks', {
        url: endpoint.url,
        events: ['message.sent'],
      });
      const webhookId = body.webhook._id as string;
      let load: NodeJS.Timeout | undefined;
      return {
        places: {
          'delivery log': async () => {
            const { body: log } = await line.call('GET', `/api/webhooks/${webhookId}/deliveries`);
            return log.deliveries.some(({ success }: { success: boolean }) => !success);
          },
          linepace_webhooks: () =>
            scene.measures('worker', 'linepace_webhooks{state="failing"}', (value) => value > 0),
        },
        async begin() {
          endpoint.behave(503);
          load = setInterval(() => line.send().catch(() => {}), 2000);
        },
        async end() {
          clearInterval(load);
          endpoint.behave(204);
          await line.send();
        },
      };
    },
  },
  {
    name: 'drips',
    text: 'drips are not drained: a trigger refuses it',
    alerts: ['LinepaceDripsNotDrained'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      const run = (text: string) => connected(scene.ownerUrl, (client) => client.query(text));
      return {
        places: {
          linepace_late_drip_workspaces: () =>
            scene.measures('worker', 'linepace_late_drip_workspaces', (value) => value > 0),
        },
        async begin() {
          await run(`create function hold_drips() returns trigger language plpgsql as $$ begin raise exception 'held'; end $$;
            create trigger hold_drips before delete on drip_buffer for each row execute function hold_drips()`);
          await line.call('POST', '/api/drip', { message: 'Hello', recipientPhone: newPhone() });
        },
        async end() {
          await run('drop trigger hold_drips on drip_buffer; drop function hold_drips');
          return () => scene.measures('worker', 'linepace_buffered_drips', (value) => value === 0);
        },
      };
    },
  },
  {
    name: 'clock',
    text: 'the clock of the worker is five minutes ahead',
    alerts: ['LinepaceClockWrong'],
    async prepare(scene) {
      mkdirSync(scene.clocks, { recursive: true });
      const set = (ms: number) => writeFileSync(join(scene.clocks, 'worker'), String(ms));
      return {
        places: {
          linepace_clock_offset_seconds: () =>
            scene.measures('worker', 'linepace_clock_offset_seconds', (value) => value > 5),
        },
        begin: async () => set(300_000),
        end: async () => set(0),
      };
    },
  },
  {
    name: 'mailbox',
    text: 'the password of a mailbox was changed',
    alerts: ['LinepaceInboxUnreadable'],
    async prepare(scene) {
      const { call, id } = await simulatedLine(scene);
      const mailbox = await startMailbox();
      const lineId = await createLine({ pools: scene.pools, url: scene.config.publicUrl }, id, 'email');
      const { hostname, port } = new URL(mailbox.url);
      const connect = await call('PUT', `/api/lines/${lineId}/carrier`, {
        provider: 'smtp',
        config: { url: scene.smtpUrl, imapUrl: mailbox.url },
      });
      if (connect.status !== 200)
        throw new Error(`${hostname}:${port} was not connected: ${JSON.stringify(connect.body)}`);
      await until(() => scene.measures('api', 'linepace_inboxes{state="read"}', (value) => value > 0));
      const line = async () =>
        (await call('GET', '/api/lines/by-user')).body.lines.find(
          ({ _id }: { _id: string }) => _id === lineId,
        );
      return {
        places: {
          'healthCheck of the line': async () => (await line()).healthCheck.inbox !== undefined,
          'State blocked': async () => (await scene.stateOf(`mailbox-reader:${lineId}`)) === 'blocked',
          linepace_inboxes: () =>
            scene.measures('api', 'linepace_inboxes{state="unreadable"}', (value) => value > 0),
        },
        begin: async () => mailbox.refuseLogins(true),
        async end() {
          mailbox.refuseLogins(false);
          return async () => (await line()).healthCheck.inbox === undefined;
        },
      };
    },
  },
];
