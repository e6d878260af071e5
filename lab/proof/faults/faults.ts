import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'slonik';
import { z } from 'zod';
import { connected } from '../../../db/connection/connected.ts';
import { systemDb } from '../../../db/connection/transactions.ts';
import { createLine } from '../../../test/support/factories.ts';
import { startEndpoint } from '../../../test/support/endpoint.ts';
import type { Front } from '../../../test/support/front.ts';
import { startMailbox } from '../../../test/support/mailbox.ts';
import { mailboxReaderId } from '../../../workflows/protocol/workflow-ids.ts';
import { until } from '../../bench/support/waiting.ts';
import {
  blocked,
  connect,
  metric,
  type Places,
  readiness,
  refusing,
  shownLine,
  simulatedLine,
  state,
  type Tells,
  twilioLine,
} from './means.ts';
import type { Scene } from './scene.ts';

export interface Fault {
  name: string;
  text: string;
  /** The alerts that have to fire. */
  alerts: readonly string[];
  /** Everything is right until `begin`. `end` undoes the fault, and may return what says that it is over. */
  prepare(scene: Scene): Promise<{
    places: Places;
    /** @returns from when the seconds count, by `performance.now()`, if not from its call on. */
    begin(): Promise<{ from: number } | void>;
    end(): Promise<Tells | void>;
  }>;
}

/** Messages wait while the way to a carrier has a fault. */
const WAITING = 12;

const carrierFault = (
  name: string,
  text: string,
  fault: Partial<Pick<Front, 'outage' | 'refusal'>>,
  alert = 'LinepaceCarrierRefuses',
): Fault => ({
  name,
  text,
  alerts: [alert],
  async prepare(scene) {
    const { call, front, lineId, send, isSent } = await twilioLine(scene);
    let last = '';
    return {
      places: {
        ...blocked(scene, call, lineId),
        ...metric(scene, 'worker', 'linepace_carrier_lines{carrier="twilio",state="blocked"}'),
      },
      async begin() {
        Object.assign(front, fault);
        for (let n = 0; n < WAITING; n += 1) last = (await send()).body._id;
      },
      async end() {
        Object.assign(front, { outage: null, refusal: null });
        await call('POST', `/api/lines/${lineId}/resume`, {});
        return () => isSent(last);
      },
    };
  },
});

/** In the order of docs/operators.md. */
export const FAULTS: readonly Fault[] = [
  carrierFault('credentials', 'the carrier answers 401 for one line', {
    refusal: { status: 401, body: { code: 20003, message: 'Authenticate', status: 401 } },
  }),
  carrierFault('tunnel', 'somebody else answers for the carrier: 404 in HTML', {
    outage: { status: 404, html: '<!doctype html><title>The endpoint is offline</title>' },
  }),
  carrierFault(
    'hang',
    'the carrier accepts connections and does not answer',
    { outage: 'hangs' },
    'LinepaceCarrierUnanswered',
  ),
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
          return line.sendsAgain();
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
        places: { ...readiness(scene, 'temporal'), ...metric(scene, 'api', 'linepace_waiting_wakes') },
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
      const trigger = refusing(scene, 'update', 'lead_imports');
      return {
        places: metric(scene, 'worker', 'linepace_failing_work'),
        async begin() {
          await trigger.begin();
          const csv = 'firstName,email\nAda,ada@example.com\n';
          await call('POST', `/api/lists/${list.body.list._id}/import`, csv, { 'content-type': 'text/csv' });
        },
        end: async () => void (await trigger.end()),
      };
    },
  },
  {
    name: 'read-only',
    text: 'PostgreSQL takes no writes, as a primary that was demoted',
    alerts: ['LinepaceApiFails'],
    async prepare(scene) {
      const line = await simulatedLine(scene);
      let stop = (): void => {};
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
          stop = line.sendEvery(500);
        },
        async end() {
          stop();
          await alter('off');
          return line.sendsAgain();
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
          return { from: performance.now() };
        },
        async end() {
          await restart({});
          return line.sendsAgain();
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
      const webhook = { url: endpoint.url, events: ['message.sent'] };
      const { body } = await line.call('POST', '/api/webhooks', webhook);
      const log = `/api/webhooks/${body.webhook._id}/deliveries`;
      let stop = (): void => {};
      return {
        places: {
          'delivery log': async () =>
            (await line.call('GET', log)).body.deliveries.some(
              ({ success }: { success: boolean }) => !success,
            ),
          ...metric(scene, 'worker', 'linepace_webhooks{state="failing"}'),
        },
        async begin() {
          endpoint.behave(503);
          stop = line.sendEvery(2000);
        },
        async end() {
          stop();
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
      const trigger = refusing(scene, 'delete', 'drip_buffer');
      return {
        places: metric(scene, 'worker', 'linepace_late_drip_workspaces'),
        async begin() {
          await trigger.begin();
          await line.call('POST', '/api/drip', { message: 'Hello', recipientPhone: '+12125550199' });
        },
        async end() {
          await trigger.end();
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
        places: metric(scene, 'worker', 'linepace_clock_offset_seconds', (value) => value > 5),
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
      await connect(call, lineId, 'smtp', { url: scene.smtpUrl, imapUrl: mailbox.url });
      await until(() => scene.measures('api', 'linepace_inboxes{state="read"}', (value) => value > 0));
      const isUnread = async () => (await shownLine(call, lineId)).healthCheck.inbox !== undefined;
      const readAt = () =>
        systemDb(scene.pools).oneFirst(
          sql.type(
            z.object({ at: z.number() }),
          )`select coalesce(extract(epoch from max(read_at)), 0)::float8 "at" from line_inboxes where line_id = ${lineId}`,
        );
      return {
        places: {
          'healthCheck of the line': isUnread,
          ...state(scene, mailboxReaderId(lineId), 'blocked'),
          ...metric(scene, 'api', 'linepace_inboxes{state="unreadable"}'),
        },
        async begin() {
          // As late as can be noticed: it has just been read.
          const before = await readAt();
          await until(async () => (await readAt()) > before);
          mailbox.refuseLogins(true);
          return { from: performance.now() };
        },
        async end() {
          mailbox.refuseLogins(false);
          return async () => !(await isUnread());
        },
      };
    },
  },
];
