import { contactKey } from '../base/contact-key.ts';
import type { Channel } from '../base/channel.ts';
import { durationMs } from '../base/duration.ts';
import { type CampaignStep, type MessageStep, type Placed } from './step.ts';
import { pauseBetween } from './walk.ts';
import { clampToWindow, type SendWindow } from '../sending/send-window.ts';

/** When the steps of a sequence are sent, and to which address. */

export interface StepLead {
  phones: string[];
  emails: string[];
}

export interface PlannedStep {
  stepId: string;
  channel: Channel;
  address: string;
  /** The earliest time; pacing may delay it. */
  at: Date;
}

/** The address of the contact on a channel; iMessage prefers the phone number. Null if there is none. */
export function addressOn(channel: Channel, { phones, emails }: StepLead): string | null {
  const phone = phones[0] === undefined ? null : contactKey(phones[0]);
  const email = emails[0] ?? null;
  return { imessage: phone ?? email, sms: phone, email }[channel];
}

/**
 * The messages that follow each other for a lead that comes to the first at `from`. A step that the lead has received before, or whose
 * channel cannot reach it, is skipped; its delay still counts.
 */
export function planSteps(
  run: readonly Placed<MessageStep>[],
  lead: StepLead,
  window: SendWindow | undefined,
  from: Date,
  received?: ReadonlySet<string>,
): PlannedStep[] {
  const planned: PlannedStep[] = [];
  let at = from;
  for (const { id: stepId, step } of run) {
    const { messageType: channel, delay } = step;
    at = clampToWindow(window, new Date(at.getTime() + durationMs(delay)));
    const address = received?.has(stepId) ? null : addressOn(channel, lead);
    if (address !== null) planned.push({ stepId, channel, address, at });
  }
  return planned;
}

/** When step `next` is due, given that step `done` was sent at `at`. */
export function stepDate(
  steps: readonly CampaignStep[],
  done: string,
  next: string,
  window: SendWindow | undefined,
  at: Date,
): Date {
  return clampToWindow(window, new Date(at.getTime() + pauseBetween(steps, done, next)));
}
