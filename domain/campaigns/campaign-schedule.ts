import { contactKey } from '../base/contact-key.ts';
import type { CampaignStep } from './campaign.ts';
import type { Channel } from '../base/channel.ts';
import { clampToWindow, type SendWindow } from '../sending/send-window.ts';

/** When the steps of a sequence are sent, and to which address. */

export interface StepLead {
  phones: string[];
  emails: string[];
}

export interface PlannedStep {
  stepIndex: number;
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
 * The steps for a lead that enters at `from`. A step whose channel cannot reach the lead is skipped; its delay still
 * counts.
 */
export function planSteps(
  steps: readonly CampaignStep[],
  lead: StepLead,
  window: SendWindow | undefined,
  from: Date,
): PlannedStep[] {
  const planned: PlannedStep[] = [];
  let at = from;
  steps.forEach(({ messageType: channel, delay }, stepIndex) => {
    at = clampToWindow(window, new Date(at.getTime() + delayMs(delay)));
    const address = addressOn(channel, lead);
    if (address !== null) planned.push({ stepIndex, channel, address, at });
  });
  return planned;
}

/** When step `next` is due, given that step `done` was sent at `at`. */
export function stepDate(
  steps: readonly CampaignStep[],
  done: number,
  next: number,
  window: SendWindow | undefined,
  at: Date,
): Date {
  const pause = steps.slice(done + 1, next + 1).reduce((sum, { delay }) => sum + delayMs(delay), 0);
  return clampToWindow(window, new Date(at.getTime() + pause));
}

export function delayMs({ days = 0, hours = 0, minutes = 0 }: CampaignStep['delay']): number {
  return ((days * 24 + hours) * 60 + minutes) * 60_000;
}
