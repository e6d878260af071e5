import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import type { ErrorCode } from '#api/http/errors.ts';
import { locale } from '#console/lib/locale.ts';

/**
 * What a refusal means whose message in the API is a code, or is in another language than the console; undefined: the message says it.
 * @param said the message of the API.
 */
export function textOfCode(code: string | undefined, said = ''): string | undefined {
  if (code === 'READ_ONLY') return t`The subscription is past due. Nothing can be changed until it is paid.`;
  if (code === 'SUBSCRIPTION_REQUIRED') return t`Nothing can be sent without a subscription.`;
  if (code === 'FORBIDDEN_LINE_TYPE') return t`The plan does not include such a line.`;
  if (locale === 'en' || code === undefined) return undefined;
  const [whole, part] = [WHOLE[code], PART[code]];
  if (whole) return i18n._(whole);
  return part && `${i18n._(part)} (${said})`;
}

type Texts = Partial<Record<string, MessageDescriptor>>;
type TextsOfCodes = Partial<Record<ErrorCode, MessageDescriptor>>;

/** Errors that their code explains. */
const WHOLE: Texts = {
  UNAUTHORIZED: msg`You are not signed in.`,
  CARD_DECLINED: msg`The saved card was declined; nothing has changed.`,
  ADMIN_REQUIRED: msg`Only an owner or admin of the workspace can do this.`,
  AGENCY_OWNER_REQUIRED: msg`Only the owner of the agency can do this.`,
  SESSION_REQUIRED: msg`Only somebody who is signed in can do this; a key cannot.`,
  INSUFFICIENT_SCOPE: msg`The key may not do this.`,
  LIVE_MODE_ONLY: msg`This is not available in test mode.`,
  WORKSPACE_SUSPENDED: msg`The operator of this installation has suspended the workspace; nothing can be changed and nothing is sent.`,
  LINK_NOT_VALID: msg`This link is not valid or has expired.`,
  NOT_FOUND: msg`This does not exist any more.`,
  PAYMENT_PENDING: msg`Another line request awaits payment: pay or cancel it first.`,
  NO_CARRIER_FOR_LINE: msg`No carrier of this installation provides such a line.`,
  NO_ACTIVE_LINE: msg`The workspace has no active line for this channel.`,
  QUICK_SENDS_STAYS: msg`The list Quick Sends can be neither renamed nor deleted.`,
  DUPLICATE_LEAD: msg`Another contact of the list has this email or phone number.`,
  MESSAGE_NOT_CANCELABLE: msg`Only a message that waits can be canceled.`,
  DRAFT_ALREADY_RESOLVED: msg`Somebody has already decided about the draft.`,
  WEBHOOK_INACTIVE: msg`The webhook is off: turn it on first.`,
  LAST_WAY_IN: msg`This is the last way in which the person can sign in.`,
  CONTACT_ERASED: msg`The contact has been erased.`,
  BODY_TOO_LARGE: msg`This is too large.`,
  STORAGE_QUOTA_EXCEEDED: msg`The storage of the workspace is full.`,
  RATE_LIMITED: msg`These are too many requests. Wait a moment and try again.`,
  INTERNAL_ERROR: msg`Something went wrong.`,
  UNAVAILABLE: msg`The server cannot do this at the moment. Try again.`,
} satisfies TextsOfCodes;

/** Errors whose message names what is meant. */
const PART: Texts = {
  VALIDATION_ERROR: msg`This is not valid`,
  CONFLICT: msg`The current state does not allow this`,
  INVALID_STATE: msg`The current state does not allow this`,
  LIMIT_REACHED: msg`The limit is reached`,
  UNSUPPORTED_BY_CARRIER: msg`The carrier of the line cannot do this`,
  CARRIER_NOT_USABLE: msg`The carrier does not work with these settings; nothing has changed`,
  URL_NOT_ALLOWED: msg`This address is not allowed`,
} satisfies TextsOfCodes;

/** The API's message about a field (`domain/base/issue-text.ts`), without the words that are about types. */
export function textOfIssue(message: string): string {
  const [, size, limit] = /^must be at (least|most) (-?[\d.]+)$/.exec(message) ?? [];
  if (limit !== undefined)
    return size === 'least' ? t`This must be at least ${limit}.` : t`This must be at most ${limit}.`;
  if (/^is required(?:: .*)?$|^must not be empty$/.test(message)) return t`This is required.`;
  if (NOT_A_TYPE.test(message)) return t`This is not a valid value.`;
  if (locale === 'en') return message;
  const [, field, suggestion] = UNKNOWN_FIELD.exec(message) ?? [];
  if (field !== undefined && suggestion !== undefined) return unknownField(field, suggestion);
  if (field !== undefined) return t`No contact has a field ${field}, so it is always empty.`;
  const known = ISSUES[message];
  return known ? i18n._(known) : message;
}

const NOT_A_TYPE = /^must be (?:a string|a (?:whole )?number|true or false|an array|an object|one of .+)$/;

const unknownField = (field: string, suggestion: string): string =>
  t`No contact has a field ${field}, so it is always empty. Do you mean ${suggestion}?`;

/** What a message about a field (`textOfIssue`) suggests to write in place of a name; null: it suggests nothing. */
export function suggestionIn(message: string): { name: string; suggestion: string } | null {
  const pattern = unknownField('NAME', 'SUGGESTION').replaceAll(/[.?¿]/g, String.raw`\$&`);
  const found = new RegExp(
    `^${pattern.replace('NAME', '(?<name>.+?)').replace('SUGGESTION', '(?<suggestion>.+?)')}$`,
  ).exec(message);
  const { name, suggestion } = found?.groups ?? {};
  return name !== undefined && suggestion !== undefined ? { name, suggestion } : null;
}

const UNKNOWN_FIELD = /^No contact has a field (.+?), so it is always empty\.(?: Do you mean (.+)\?)?$/;

const REQUIRED = msg`This is required.`;
/** What the API says most often about a field. */
const ISSUES: Texts = {
  'must not be blank': REQUIRED,
  'must be in the future': msg`This must be in the future.`,
  'must be an email address': msg`This must be an email address.`,
  'must be a phone number': msg`This must be a phone number.`,
  'must be a + followed by a country code': msg`This must be a + followed by the code of a country.`,
  'must be a phone number or an email address': msg`This must be a phone number or an email address.`,
  'must be an http or https URL': msg`This must be an address that begins with https.`,
};
