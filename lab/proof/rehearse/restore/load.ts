import { setTimeout as pause } from 'node:timers/promises';
import { EVENT_NAMES } from '../../../../domain/events/event.ts';
import { insist, type Tenant } from '../../chaos/load.ts';
import type { Installation } from '../installation.ts';

/** A message that a caller was promised, and the text that reaches the carrier. */
export interface Promised {
  text: string;
  at: Date;
  /** Sends the request again, with its idempotency key. */
  repeat(): Promise<void>;
}

export interface RunningLoad {
  promised: Promised[];
  /** Messages of contacts that the product has confirmed, by the carrier's id. */
  replies: { id: string; at: Date }[];
  stop(): Promise<void>;
}

const EVERY_MS = 400;
/** A contact writes after each of this many requests. */
const REPLY_EVERY = 5;
/**
 * One of this many requests is of the kind. The others are drips, which leave within five and a half minutes. Half of the
 * scheduled messages are due at once.
 */
const SCHEDULED_EVERY = 4;
const FALLBACK_EVERY = 10;
const AHEAD_MS = 60_000;
let contacts = 0;

/** Registers a webhook, and the account of the SMS fallback. */
export async function prepareTenant(
  { publicUrl, webhookUrl, carriers }: Installation,
  { key }: Tenant,
): Promise<void> {
  const must = async (method: string, path: string, body: object): Promise<void> => {
    const { status } = await insist(publicUrl, key, method, path, body);
    if (status >= 300) throw new Error(`${path} was answered ${status}`);
  };
  await must('POST', '/api/webhooks', { url: webhookUrl, events: EVENT_NAMES });
  const account = { provider: 'twilio', fromNumber: '+14155550198', ...carriers.account };
  await must('PATCH', '/api/workspace/fallback-config', { enabled: true, ...account });
}

/** Sends messages of all kinds until it is stopped. A request that fails is not repeated: nothing was promised. */
export function startLoad(
  { publicUrl, carriers }: Installation,
  { name, key, lineIds }: Tenant,
  round: string,
): RunningLoad {
  const promised: Promised[] = [];
  const replies: RunningLoad['replies'] = [];
  const open = new Set<Promise<void>>();
  const stopping = new AbortController();

  async function send(index: number): Promise<void> {
    const isFallback = index % FALLBACK_EVERY === 0;
    const isScheduled = !isFallback && index % SCHEDULED_EVERY === 0;
    const aheadMs = index % (2 * SCHEDULED_EVERY) === 0 ? AHEAD_MS : 0;
    const text = `${round} ${name} ${index}`;
    const body = {
      // The last digits say whether the contact has iMessage.
      recipientPhone: contact(isFallback ? '0001' : '1111'),
      message: isFallback ? `${text} as iMessage` : text,
      ...(isFallback && { smsFallbackMessage: text, sendFallbackSmsOnFailed: true }),
      ...(isScheduled && { scheduledDate: new Date(Date.now() + aheadMs).toISOString() }),
    };
    const post = (): Promise<Response> =>
      fetch(`${publicUrl}/api/${isScheduled ? 'messages' : 'drip'}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': text,
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
    const response = await post().catch(() => null);
    await response?.arrayBuffer().catch(() => {});
    if (!response?.ok) return;
    const repeat = async (): Promise<void> => {
      const again = await post();
      if (!again.ok) throw new Error(`${text} was answered ${again.status} ${await again.text()}`);
    };
    promised.push({ text, at: new Date(), repeat });
  }

  async function hear(index: number): Promise<void> {
    const lineId = lineIds[index % lineIds.length] ?? '';
    const id = await carriers.writeIn(lineId, contact('1111'), `${round} ${name} reply ${index}`);
    if (!stopping.signal.aborted) replies.push({ id, at: new Date() });
  }

  const work = (async () => {
    for (let index = 0; !stopping.signal.aborted; index += 1) {
      const one = send(index);
      open.add(one);
      void one.finally(() => open.delete(one));
      if (index % REPLY_EVERY === 0) void hear(index).catch(() => {});
      await pause(EVERY_MS);
    }
  })();
  return {
    promised,
    replies,
    async stop() {
      stopping.abort();
      await work;
      await Promise.all(open);
    },
  };
}

function contact(lastDigits: string): string {
  contacts += 1;
  return `+1${300 + Math.floor(contacts / 700)}${200 + (contacts % 700)}${lastDigits}`;
}
