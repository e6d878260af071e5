import { isLikelyNumber } from '#domain/base/phone.ts';
import type { TestApp } from './app.ts';

export interface SentMessage {
  id: string;
  lineId: string;
  channel: string;
  text: string;
  attachments: { name: string; contentType: string | null; voiceNote: boolean }[];
  replyTo?: string;
  effect?: string;
  acceptedAt: string;
}

/** The messages that the carrier accepted for an address. Lost and duplicate messages are visible here. */
export async function sentTo(app: TestApp, address: string): Promise<SentMessage[]> {
  const response = await fetch(`${app.url}/simulated/carrier/sent?to=${encodeURIComponent(address)}`);
  if (!response.ok) throw new Error(`the carrier's log responded ${response.status}`);
  const { messages } = (await response.json()) as { messages: SentMessage[] };
  return messages;
}

/** Area codes whose numbers exist: a number that cannot is accepted with a warning. */
const AREAS = Array.from({ length: 300 }, (_, index) => 200 + index).filter((area) =>
  [222, 555, 899].every((exchange) => isLikelyNumber(`+1${area}${exchange}1111`)),
);
const EXCHANGES = 700;
let next = 0;

/** A unique phone number; its last four digits choose the behaviour of the simulated carrier. */
export function phone(behaviour = '1111'): string {
  next += 1;
  const area = AREAS[next % AREAS.length];
  const exchange = 200 + (Math.floor(next / AREAS.length) % EXCHANGES);
  return `+1${area}${exchange}${behaviour}`;
}

/** A unique number that begins so and has so many digits more, which choose no behaviour of the simulated carrier. */
export function numberIn(beginning: string, digits: number): string {
  next += 1;
  const size = 10 ** Math.max(0, digits - 5);
  // Exchanges of North America begin with 2 to 9.
  const exchange = digits > 4 ? String(2 * size + (next % (7 * size))) : '';
  return `${beginning}${exchange}1111`;
}
