import { t } from '@lingui/core/macro';

/** What a refusal means whose message in the API is a code; undefined: the message says it. */
export function textOfCode(code: string | undefined): string | undefined {
  if (code === 'READ_ONLY') return t`The subscription is past due. Nothing can be changed until it is paid.`;
  if (code === 'SUBSCRIPTION_REQUIRED') return t`Nothing can be sent without a subscription.`;
  return code === 'FORBIDDEN_LINE_TYPE' ? t`The plan does not include such a line.` : undefined;
}

/** A message about a field, without the words of the parser, which are about types. */
export function textOfIssue(message: string): string {
  const [, size, limit] = /^Too (small|big): expected number to be [<>]=?(-?[\d.]+)$/.exec(message) ?? [];
  if (limit !== undefined)
    return size === 'small' ? t`This must be at least ${limit}.` : t`This must be at most ${limit}.`;
  if (
    /^Invalid input: .*received undefined$|^Too small: expected string to have >=1 characters$/.test(message)
  )
    return t`This is required.`;
  return /^Invalid (input|option):/.test(message) ? t`This is not a valid value.` : message;
}
