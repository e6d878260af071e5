import { t } from '@lingui/core/macro';
import type { AnyStep } from './campaign.ts';
import { spanText } from './campaign.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { listOf } from '#console/lib/format.ts';
import {
  COMPARISONS,
  type ConditionOp,
  type Fact,
  FACTS,
  isFact,
  LEAD_FIELDS,
} from '#domain/shared/condition-fields.ts';

/** A condition about a contact, as steps that wait or branch and segments have it. */
export type Condition = Extract<AnyStep, { kind: 'wait_until' }>['any'][number];
type Value = Condition['value'];

/** Stands for all fields that a workspace has made itself. */
export const CUSTOM = 'customFields';
const isCustom = (field: string): boolean => field.startsWith(`${CUSTOM}.`);
/** The field of a custom field's name. */
export const customField = (name: string): string => `${CUSTOM}.${name}`;
export const customName = (field: string): string => (isCustom(field) ? field.slice(CUSTOM.length + 1) : '');

const FACT_NAMES = (): Record<Fact, string> => ({
  replied: t`Reply`,
  no_reply_for: t`No reply for`,
  read: t`Last message is read`,
  clicked: t`Link of the last message is opened`,
  delivered: t`Last message is delivered`,
  failed: t`Last message failed`,
  channel_available: t`Can be reached by`,
  tag: t`Tag`,
  contacted_within_days: t`Written to by a campaign within days`,
  has_consent: t`Consent`,
});

const FIELD_NAMES = (): Record<(typeof LEAD_FIELDS)[number], string> => ({
  firstName: t`First name`,
  lastName: t`Last name`,
  email: t`Email`,
  phone: t`Phone`,
  companyName: t`Company`,
  jobTitle: t`Job title`,
  notes: t`Notes`,
  contactOwnerEmail: t`Owner’s email`,
  timezone: t`Time zone`,
  status: t`iMessage status`,
  source: t`Source`,
  createdAt: t`Added on`,
});

/** What can be asked, by the names that people know. */
export const fieldOptions = (): { value: string; label: string }[] => {
  const names: Record<string, string> = { ...FACT_NAMES(), ...FIELD_NAMES(), [CUSTOM]: t`Own field` };
  return [...Object.keys(FACTS), ...LEAD_FIELDS, CUSTOM].map((value) => ({
    value,
    label: names[value] ?? value,
  }));
};

/** The option of a condition's field. */
export const optionOf = ({ field }: Condition): string => (isCustom(field) ? CUSTOM : field);

const OP_NAMES = (): Record<ConditionOp, string> => ({
  any: t`comes`,
  eq: t`is`,
  neq: t`is not`,
  contains: t`contains`,
  not_contains: t`does not contain`,
  starts_with: t`starts with`,
  gt: t`is more than`,
  gte: t`is at least`,
  lt: t`is less than`,
  lte: t`is at most`,
  gt_date: t`is after`,
  lt_date: t`is before`,
  exists: t`has a value`,
  not_exists: t`has no value`,
});

const opsOf = (field: string): readonly ConditionOp[] => (isFact(field) ? FACTS[field] : COMPARISONS);

/** The operator of a condition, also where it is the default. */
export const opOf = ({ field, op }: Condition): ConditionOp => op ?? opsOf(field)[0] ?? 'eq';

export const opOptions = ({ field }: Condition): { value: string; label: string }[] =>
  opsOf(field).map((value) => ({ value, label: OP_NAMES()[value] }));

/** How a value is written. */
export type ValueKind =
  | 'none'
  | 'words'
  | 'yes'
  | 'channel'
  | 'consent'
  | 'number'
  | 'days'
  | 'span'
  | 'date';

export function kindOf(condition: Condition): ValueKind {
  const { field, value } = condition;
  const op = opOf(condition);
  if (field === 'no_reply_for') return 'span';
  if (field === 'contacted_within_days') return 'days';
  if (field === 'channel_available') return 'channel';
  if (op === 'exists' || op === 'not_exists') return 'none';
  if (field === 'replied' && (typeof value === 'string' || Array.isArray(value))) return 'words';
  if (op === 'any') return 'none';
  if (field === 'has_consent') return 'consent';
  if (field === 'replied') return op === 'eq' || op === 'neq' ? 'yes' : 'words';
  if (field === 'read' || field === 'clicked' || field === 'delivered' || field === 'failed') return 'yes';
  if (['gt', 'gte', 'lt', 'lte'].includes(op)) return 'number';
  if (op === 'gt_date' || op === 'lt_date') return 'date';
  return 'words';
}

const FIRST_VALUES: Record<ValueKind, Value> = {
  none: undefined,
  words: '',
  yes: true,
  channel: 'imessage',
  consent: true,
  number: 0,
  days: 30,
  span: { days: 3 },
  date: { days: 1 },
};

/** The condition about another field. */
export const withField = (field: string): Condition => withOp({ field }, opsOf(field)[0] ?? 'eq');

/** The condition with another operator. The value stays if it is written in the same way. */
export function withOp(condition: Condition, op: ConditionOp): Condition {
  const { field, value, campaign } = condition;
  const next: Condition = { field, op, ...(campaign && { campaign }) };
  const kind = kindOf(next);
  const kept = kindOf(condition) === kind && value !== undefined ? value : FIRST_VALUES[kind];
  return kept === undefined ? next : { ...next, value: kept };
}

/** The texts of a value, of which one suffices: one a line. */
export const linesOf = (value: Value): string => [value ?? ''].flat().map(String).join('\n');

export function valueOfLines(text: string): string | string[] {
  const lines = text.split('\n');
  return lines.length > 1 ? lines : text;
}

export const isSpan = (value: Value): value is Extract<Value, { days?: number | undefined }> =>
  typeof value === 'object' && !Array.isArray(value);

/** A condition as a sentence: Reply contains “yes” or “sure”. */
export function conditionText(condition: Condition): string {
  const { field, value } = condition;
  const option = optionOf(condition);
  const name =
    option === CUSTOM
      ? customName(field)
      : (fieldOptions().find((known) => known.value === option)?.label ?? field);
  const kind = kindOf(condition);
  const verb =
    field === 'no_reply_for' || field === 'contacted_within_days' ? '' : OP_NAMES()[opOf(condition)];
  return [name, verb, valueText(kind, value)].filter((part) => part !== '').join(' ');
}

function valueText(kind: ValueKind, value: Value): string {
  if (kind === 'none' || value === undefined) return '';
  if (typeof value === 'boolean') return value ? t`yes` : t`no`;
  if (isSpan(value)) return spanText(value);
  if (kind === 'span') return spanText({ days: Number(value) });
  if (typeof value === 'string' && Object.hasOwn(CHANNELS, value))
    return CHANNELS[value as keyof typeof CHANNELS];
  if (typeof value === 'number') return String(value);
  return listOf(
    [value].flat().map((text) => `“${text}”`),
    'disjunction',
  );
}
