/** What conditions about a contact can ask: the API checks them, and the console offers them. */

export const COMPARISONS = [
  'eq',
  'neq',
  'contains',
  'not_contains',
  'starts_with',
  'gt',
  'gte',
  'lt',
  'lte',
  'gt_date',
  'lt_date',
  'exists',
  'not_exists',
] as const;
export type ConditionOp = (typeof COMPARISONS)[number] | 'any';

/** The fields of a lead that a condition reads. `email` and `phone` stand for all addresses of their kind. */
export const LEAD_FIELDS = [
  'firstName',
  'lastName',
  'email',
  'phone',
  'companyName',
  'jobTitle',
  'notes',
  'contactOwnerEmail',
  'timezone',
  'status',
  'source',
  'createdAt',
] as const;

/** What else a condition reads, with the operators that it takes; the first is the default. */
export const FACTS = {
  replied: ['any', 'eq', 'neq', 'contains', 'not_contains', 'exists', 'not_exists'],
  no_reply_for: ['gte'],
  read: ['eq', 'neq', 'exists', 'not_exists', 'any'],
  clicked: ['eq', 'neq', 'exists', 'not_exists', 'any'],
  delivered: ['eq', 'neq', 'exists', 'not_exists', 'any'],
  failed: ['eq', 'neq', 'exists', 'not_exists', 'any'],
  channel_available: ['eq', 'neq'],
  tag: ['eq', 'neq', 'contains', 'not_contains', 'exists', 'not_exists'],
  contacted_within_days: ['eq', 'neq'],
  has_consent: ['eq', 'neq', 'exists', 'not_exists'],
} as const satisfies Record<string, readonly ConditionOp[]>;
export type Fact = keyof typeof FACTS;

export const isFact = (field: string): field is Fact => Object.hasOwn(FACTS, field);
