import { setTimeout as pause } from 'node:timers/promises';
import { connected } from '../../../db/connection/connected.ts';
import { createLine } from '../../../test/support/factories.ts';
import { TWILIO_ACCOUNT } from '../../../test/support/twilio.ts';
import { linePacerId } from '../../../workflows/protocol/workflow-ids.ts';
import { until } from '../../bench/support/waiting.ts';
import type { Scene } from './scene.ts';

/** Whether a place tells of a fault. */
export type Tells = () => Promise<boolean>;
export type Places = Record<string, Tells>;

/** Alerts of news compare with what Prometheus has seen of a carrier. */
const SEEN_MS = 40_000;
const SENT = ['sent', 'delivered'];

let numbers = 0;
const newPhone = (): string => `+1212${String((numbers += 1)).padStart(3, '0')}0100`;

type Call = Awaited<ReturnType<Scene['createTenant']>>['call'];

/** Ways to send by a workspace's line. */
function sending(call: Call, fields: object = {}) {
  const send = () =>
    call('POST', '/api/messages', { message: 'Hello', recipientPhone: newPhone(), ...fields });
  const isSent = async (id: string): Promise<boolean> =>
    SENT.includes((await call('GET', `/api/messages/${id}`)).body.status);
  return {
    send,
    isSent,
    /** Sends one message, which arrives. */
    async sendOne(): Promise<void> {
      const { body } = await send();
      await until(() => isSent(body._id));
    },
    /** Says whether a message that is sent from now on arrives. */
    sendsAgain(): Tells {
      let id: string | undefined;
      return async () => {
        id ??= (await send()).body._id as string | undefined;
        return id !== undefined && isSent(id);
      };
    },
    /** Sends until it is stopped. @returns stops it. */
    sendEvery(ms: number): () => void {
      const timer = setInterval(() => send().catch(() => {}), ms);
      return () => clearInterval(timer);
    },
  };
}

/** A workspace whose line has sent a message. */
export async function simulatedLine(scene: Scene) {
  const { call, id } = await scene.createTenant();
  const line = { call, id, ...sending(call) };
  await line.sendOne();
  return line;
}

/** A workspace whose line of Twilio has sent a message, by a way in which somebody else can answer. */
export async function twilioLine(scene: Scene) {
  const { call, id } = await scene.createTenant();
  const lineId = await createLine({ pools: scene.pools, url: scene.config.publicUrl }, id, 'sms', {
    min_gap_seconds: 5,
  });
  const front = await scene.frontOfTwilio();
  const { sid: accountSid, authToken } = TWILIO_ACCOUNT;
  await connect(call, lineId, 'twilio', { accountSid, authToken, baseUrl: front.url });
  const line = sending(call, { fromLineId: lineId, messageType: 'sms' });
  await line.sendOne();
  if (scene.hasAlerts) await pause(SEEN_MS);
  return { call, front, lineId, ...line };
}

export async function connect(call: Call, lineId: string, provider: string, config: object): Promise<void> {
  const { status, body } = await call('PUT', `/api/lines/${lineId}/carrier`, { provider, config });
  if (status !== 200) throw new Error(`the line was not connected: ${JSON.stringify(body)}`);
}

/** A line as its workspace sees it. */
export const shownLine = async (call: Call, lineId: string) =>
  (await call('GET', '/api/lines/by-user')).body.lines.find(({ _id }: { _id: string }) => _id === lineId);

/** The places that tell that a line is blocked. */
export const blocked = (scene: Scene, call: Call, lineId: string): Places => ({
  ...state(scene, linePacerId(lineId), 'blocked'),
  'blocked of the line': async () => (await shownLine(call, lineId)).blocked !== null,
});

export const state = (scene: Scene, workflowId: string, name: string): Places => ({
  [`State ${name}`]: async () => (await scene.stateOf(workflowId)) === name,
});

/** A metric of a process. @param series with its labels in the order of the process. */
export const metric = (
  scene: Scene,
  part: Parameters<Scene['measures']>[0],
  series: string,
  is: (value: number) => boolean = (value) => value > 0,
): Places => ({ [series]: () => scene.measures(part, series, is) });

export const readiness = (scene: Scene, check: string): Places => ({
  'readyz of the API': () => scene.isNotReady('api', check),
  'readyz of the worker': () => scene.isNotReady('worker', check),
  ...metric(scene, 'api', `linepace_ready{check="${check}"}`, (value) => value === 0),
});

/** A trigger that refuses what is done to a table. */
export function refusing(scene: Scene, change: 'update' | 'delete', table: string) {
  const run = (text: string) => connected(scene.ownerUrl, (client) => client.query(text));
  return {
    begin: () =>
      run(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
        create trigger refuse before ${change} on ${table} for each row execute function refuse()`),
    end: () => run(`drop trigger refuse on ${table}; drop function refuse`),
  };
}
