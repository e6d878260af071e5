import { z } from 'zod';
import { truncate } from '#domain/base/text.ts';
import { InboundGroup } from '#domain/lines/carrier-event.ts';
import type { ActionRequest, SendRequest } from '#providers/carriers/simulated-protocol.ts';
import { normalizeRecipient } from './behaviour.ts';
import type { FaultSettings } from './faults.ts';
import type { Journal } from './journal.ts';

/** A message that the carrier accepted. */
export interface Sent extends SendRequest {
  id: string;
  acceptedAt: string;
}

/** What a line did to a message. */
export interface Act extends ActionRequest {
  at: string;
}

/** Longer texts are truncated, because a callback is limited to 1 MB and JSON takes up to 6 bytes per character. */
const MAX_PASSED_ON = 150_000;

/** `POST /simulated/carrier/inbound`: a contact sends a message. */
export const InboundRequest = z.object({
  lineId: z.string().min(1).max(100),
  from: z.string().min(1).max(320),
  text: z
    .string()
    .default('')
    .transform((text) => truncate(text, MAX_PASSED_ON)),
  attachments: z
    .array(
      z.object({ name: z.string().min(1).max(255), contentType: z.string().max(255), base64: z.base64() }),
    )
    .max(500)
    .default([]),
  autoReply: z.boolean().default(false),
  /** The group conversation it is written to. */
  group: InboundGroup.optional(),
  /** The carrier's or our id of the message that it replies to. */
  replyTo: z.string().max(100).optional(),
});

/** `POST /simulated/carrier/call`: simulates a call. */
export const CallRequest = z.object({
  lineId: z.string().min(1).max(100),
  from: z.string().min(1).max(40),
  to: z.string().min(1).max(40),
  seconds: z.number().min(0).max(86_400),
  answered: z.boolean(),
  recording: z.boolean().default(false),
});

export interface Inbound extends z.infer<typeof InboundRequest> {
  id: string;
}
export interface Call extends z.infer<typeof CallRequest> {
  id: string;
  endedAt: string;
}

/** What happened at the carrier and is reported by callbacks. */
export type Activity =
  | { kind: 'sent'; sent: Sent }
  | { kind: 'inbound'; inbound: Inbound }
  | { kind: 'call'; call: Call };

export type CarrierEntry =
  | Activity
  /** An activity that has been fully reported. */
  | { kind: 'told'; id: string }
  | { kind: 'act'; act: Act }
  | { kind: 'line'; lineId: string; down: boolean }
  | { kind: 'faults'; faults: FaultSettings };

export const idOf = (activity: Activity): string =>
  activity.kind === 'sent'
    ? activity.sent.id
    : activity.kind === 'inbound'
      ? activity.inbound.id
      : activity.call.id;

export interface CarrierLog {
  add(activity: Activity): void;
  /** Marks an activity as fully reported, so that it is not reported again after a restart. */
  finish(id: string): void;
  /** Activities that an earlier process had not fully reported. */
  takeUnfinished(): Activity[];
  /** Oldest first; a message accepted twice appears twice. `to` must be normalized by `normalizeRecipient`. */
  sent(filter: { to?: string | undefined; lineId?: string | undefined }): Sent[];
  sentByReference(clientReference: string): Sent | undefined;
  /** Resolves the carrier's id from either the carrier's or our id of a message. */
  carrierIdOf(reference: string): string;
  inbound(id: string): Inbound | undefined;
  /** Records an action, unless it is repeated. */
  act(act: Act): void;
  actByReference(clientReference: string): Act | undefined;
  /** Those to a recipient, oldest first. */
  actions(to: string): Act[];
  setDown(lineId: string, down: boolean): void;
  isDown(lineId: string): boolean;
  setFaults(faults: FaultSettings): void;
  faults(): FaultSettings;
}

/** The state of the simulated carrier, in memory and in its journal. */
export function createCarrierLog(journal: Journal<CarrierEntry>): CarrierLog {
  const all: Sent[] = [];
  const byRecipient = new Map<string, Sent[]>();
  const byReference = new Map<string, Sent>();
  const idsByMessage = new Map<string, string>();
  const acts = new Map<string, Act>();
  const inbounds = new Map<string, Inbound>();
  const down = new Set<string>();
  const unfinished = new Map<string, Activity>();
  let faults: FaultSettings = { share: 0, seed: '' };

  function apply(entry: CarrierEntry): void {
    if (entry.kind === 'sent') {
      const { sent } = entry;
      for (const to of sent.group?.participants ?? [sent.to]) {
        const recipient = normalizeRecipient(to);
        const previous = byRecipient.get(recipient);
        if (previous) previous.push(sent);
        else byRecipient.set(recipient, [sent]);
      }
      all.push(sent);
      byReference.set(sent.clientReference, sent);
      idsByMessage.set(sent.messageReference, sent.id);
    }
    if (entry.kind === 'act') acts.set(entry.act.clientReference, entry.act);
    if (entry.kind === 'inbound') inbounds.set(entry.inbound.id, entry.inbound);
    if (entry.kind === 'line' && entry.down) down.add(entry.lineId);
    if (entry.kind === 'line' && !entry.down) down.delete(entry.lineId);
    if (entry.kind === 'faults') ({ faults } = entry);
  }

  for (const entry of journal.takePast()) {
    apply(entry);
    if (entry.kind === 'told') unfinished.delete(entry.id);
    else if (entry.kind !== 'line' && entry.kind !== 'faults' && entry.kind !== 'act')
      unfinished.set(idOf(entry), entry);
  }

  function record(entry: CarrierEntry): void {
    journal.append(entry);
    apply(entry);
  }

  return {
    add: record,
    finish: (id) => record({ kind: 'told', id }),
    takeUnfinished() {
      const left = [...unfinished.values()];
      unfinished.clear();
      return left;
    },
    sent({ to, lineId }) {
      const found = to === undefined ? all : (byRecipient.get(to) ?? []);
      return lineId === undefined ? found : found.filter((sent) => sent.lineId === lineId);
    },
    sentByReference: (clientReference) => byReference.get(clientReference),
    carrierIdOf: (reference) => idsByMessage.get(reference) ?? reference,
    inbound: (id) => inbounds.get(id),
    act(act) {
      if (!acts.has(act.clientReference)) record({ kind: 'act', act });
    },
    actByReference: (clientReference) => acts.get(clientReference),
    actions: (to) => [...acts.values()].filter((act) => normalizeRecipient(act.to) === to),
    setDown: (lineId, isDown) => record({ kind: 'line', lineId, down: isDown }),
    isDown: (lineId) => down.has(lineId),
    setFaults: (settings) => record({ kind: 'faults', faults: settings }),
    faults: () => faults,
  };
}
