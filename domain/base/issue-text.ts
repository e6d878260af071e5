import type { z } from 'zod';

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  stringbool: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

const FORMATS: Record<string, string> = {
  email: 'an email address',
  url: 'a URL',
  datetime: 'an ISO 8601 date and time',
  date: 'a date as YYYY-MM-DD',
};

/**
 * For `safeParse`: says what is accepted, in the form of the product's own messages, which follow the name of a field: `must be a string`.
 * zod says `Invalid input: expected string, received number`. A message of the schema takes precedence.
 */
export const plainIssue: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type': {
      const { expected } = issue;
      if (issue.input === undefined) return 'is required';
      return expected === 'never' ? 'must be left out' : `must be ${TYPES[expected] ?? `a ${expected}`}`;
    }
    case 'invalid_value': {
      const accepted = TYPES[String(issue['expected'])] ?? oneOf(issue.values);
      return issue.input === undefined ? `is required: ${accepted}` : `must be ${accepted}`;
    }
    case 'too_small':
    case 'too_big':
      return sizeText(issue);
    case 'invalid_format':
      return formatText(issue);
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_key':
      return `the name ${issue.issues[0]?.message ?? 'is not accepted'}`;
    case 'invalid_union':
      return unionText(issue);
    case 'custom':
    case 'invalid_element':
    case 'unrecognized_keys':
      return undefined;
  }
};

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? String(values[0]) : `one of ${values.filter((value) => value !== '').join(', ')}`;

const UNITS: Record<string, string> = { string: 'character', array: 'element' };

type SizeIssue = z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall> | z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>;

function sizeText(issue: SizeIssue): string {
  const isSmall = issue.code === 'too_small';
  const limit = isSmall ? issue.minimum : issue.maximum;
  const unit = UNITS[issue.origin];
  if (unit === undefined) {
    if (issue.inclusive === false) return `must be ${isSmall ? 'more' : 'less'} than ${limit}`;
    return `must be at ${isSmall ? 'least' : 'most'} ${limit}`;
  }
  if (isSmall && Number(limit) === 1) return 'must not be empty';
  const bound = issue.exact ? 'exactly' : `at ${isSmall ? 'least' : 'most'}`;
  return `must have ${bound} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`;
}

function formatText(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidStringFormat>): string {
  if (issue.format === 'regex') return `must match ${issue.pattern}`;
  return `must be ${FORMATS[issue.format] ?? issue.format}`;
}

const EITHER = new Intl.ListFormat('en', { type: 'disjunction' });

/** What each alternative accepts; of one whose type fits, what is wrong within. */
function unionText(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string | undefined {
  const options = (issue['options'] as unknown[] | undefined)?.filter((option) => option !== undefined);
  if (options !== undefined) return `must be ${oneOf(options)}`;
  if (issue.input === undefined) return 'is required';
  const problems = issue.errors.flatMap(([first]) => (first ? [first] : []));
  const within = problems.find(({ code, path }) => code !== 'invalid_type' || path.length > 0);
  if (within) return [...within.path, within.message].join(' ');
  const accepted = new Set(problems.map(({ message }) => message.replace(/^must be /, '')));
  return `must be ${EITHER.format(accepted)}`;
}
