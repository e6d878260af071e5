import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import type { WaitingFor } from '#domain/sending/waiting.ts';
import type { WaitReason } from '#domain/sending/wait-reasons.ts';
import { wordsOf } from './format.ts';
import { locale } from './locale.ts';

/** Typed by the API's reasons, so that none is without a text. */
const HOLDS: Partial<Record<string, MessageDescriptor>> = {
  scheduled: msg`Scheduled`,
  next_in_turn: msg`Next in turn`,
  previous_step: msg`Previous step`,
  personalization: msg`Personalization`,
  opt_out_suspected: msg`Opt-out suspected`,
  campaign_paused: msg`Campaign paused`,
  campaign_inactive: msg`Campaign not active`,
  workspace_suspended: msg`Workspace suspended`,
  subscription_past_due: msg`Subscription past due`,
  no_line: msg`No line`,
  payment_missing: msg`Line not paid`,
  line_failed: msg`Line setup failed`,
  line_provisioning: msg`Line being set up`,
  line_changing: msg`Line being changed`,
  line_not_connected: msg`Line not connected`,
  line_down: msg`Line down`,
  line_paused: msg`Line paused`,
  line_inactive: msg`Line inactive`,
  line_resting: msg`Line resting`,
  carrier_pause: msg`Carrier pause`,
  carrier_retry: msg`Carrier retry`,
  set_aside: msg`Set aside`,
  carrier_answer: msg`Carrier has not answered`,
  carrier_outcome: msg`Outcome being determined`,
  credentials_refused: msg`Credentials refused`,
  worker_unavailable: msg`No worker`,
  fallback_sms: msg`Fallback SMS`,
  line_gap: msg`Line gap`,
  lead_paused: msg`Paused for this lead`,
  contact_busy: msg`A member is writing with the contact`,
  contact_gap: msg`Contact gap`,
  frequency_cap: msg`Frequency cap`,
  send_window: msg`Send window`,
  recipient_quiet_hours: msg`Recipient quiet hours`,
  hourly_new_cap: msg`Hourly new cap`,
  daily_new_cap: msg`Daily new cap`,
  daily_total_cap: msg`Daily total cap`,
  recipient_opted_out: msg`Recipient opted out`,
} satisfies Record<WaitReason | 'next_in_turn', MessageDescriptor>;

/** Why a message waits, in a few words; null: the console does not know the reason. */
export function waitNamed(reason: string): string | null {
  const known = HOLDS[reason];
  return known ? i18n._(known) : null;
}

const FAILURES: Partial<Record<string, MessageDescriptor>> = {
  recipient_suppressed: msg`Recipient suppressed`,
  outcome_unknown: msg`Outcome unknown`,
  empty_message: msg`Empty message`,
  message_too_long: msg`Message too long`,
  fallback_not_configured: msg`Fallback not configured`,
  no_phone_number_for_sms: msg`No phone number for sms`,
};

/** What codes of Twilio and Telnyx about recipients and senders mean, which differ from each other. */
const OF_CARRIERS: readonly (readonly [codes: string, text: MessageDescriptor])[] = [
  ['21211 21217 10002 10016 40310', msg`This is not a phone number`],
  ['21214 21612 21614 21635 30005 30006 10001 40001 40012', msg`This number cannot get such messages`],
  ['30003', msg`The phone is off or out of reach`],
  ['21610', msg`The contact has opted out at the carrier`],
  ['30004 30007 30038 30450 40002 40015 40017 40322', msg`A network has blocked it, for example as spam`],
  ['30036 40005 40014', msg`It took too long and expired`],
  ['30032 30034 30035 40010 40150', msg`The line is not registered for business messages`],
  ['21605 21617 30019 40302 40328', msg`It is too long or too large`],
];

/** `30003: Unreachable destination handset`. The carriers say it in English, with more details. */
function carrierReason(reason: string): string | null {
  const code = locale === 'en' ? undefined : /^(\d{5}): /.exec(reason)?.[1];
  const known = OF_CARRIERS.find(([codes]) => code !== undefined && codes.includes(code));
  return known ? `${i18n._(known[1])} (${code})` : null;
}

/** Why a message waits or was not sent: codes of the API as words, anything else as it is. */
export function reasonName(reason: string): string {
  const known = FAILURES[reason];
  const name = known ? i18n._(known) : (waitNamed(reason) ?? carrierReason(reason));
  if (name !== null) return name;
  return /^[a-z_]+$/.test(reason) ? wordsOf(reason) : reason;
}

/** Why a message waits. The API says it in English, with more details. */
export const waitText = ({ reason, text }: WaitingFor): string =>
  locale === 'en' ? text : (waitNamed(reason) ?? text);
