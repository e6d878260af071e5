import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { CheckList } from '#console/components/check-list.tsx';
import { issueOf, TextAreaField } from '#console/components/field.tsx';
import type { ResponseOf } from '#console/api/routes.ts';

export type WorkspaceKey = ResponseOf<'GET /api/keys'>['keys'][number];
type Scope = WorkspaceKey['scopes'][number];

/** All scopes, and what each allows. */
const SCOPES: Record<Scope, MessageDescriptor> = {
  read: msg`Read everything but carrier settings`,
  send: msg`Send messages, run campaigns, answer, and change contacts`,
  draft: msg`Make and read drafts, and never send`,
  manage: msg`Change lines, carriers, webhooks, the team and settings, and delete`,
};
export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];

export interface Restrictions {
  scopes: Scope[];
  /** Networks, one a line. */
  allowedIps: string;
}
export const UNRESTRICTED: Restrictions = { scopes: SCOPE_NAMES, allowedIps: '' };

/** The restrictions as the API takes them. */
export function restrictionsIn({ scopes, allowedIps }: Restrictions) {
  const ranges = allowedIps.split(/[\s,]+/).filter((range) => range !== '');
  return { scopes, allowedIps: ranges.length > 0 ? ranges : null };
}

/** What a key of a workspace may do, and from where. */
export function KeyFields({
  value,
  onChange,
  error,
}: {
  value: Restrictions;
  onChange: (value: Restrictions) => void;
  /** The error of the request that saves them. */
  error: unknown;
}) {
  const { t } = useLingui();
  return (
    <>
      <CheckList
        legend={t`Scopes`}
        options={SCOPES}
        value={value.scopes}
        onChange={(scopes) => onChange({ ...value, scopes })}
        error={issueOf(error, 'scopes')}
        namesOnPhones
      />
      <TextAreaField
        label={t`Allowed addresses (optional)`}
        hint={t`IP addresses or networks that may use it, one a line, for example: 203.0.113.0/24`}
        value={value.allowedIps}
        onChange={(event) => onChange({ ...value, allowedIps: event.target.value })}
        error={ipIssueOf(error)}
      />
    </>
  );
}

/** The API names the network by its position: `allowedIps.1`. */
function ipIssueOf(error: unknown): string | undefined {
  const own = issueOf(error, 'allowedIps');
  if (own !== undefined) return own;
  for (let index = 0; index < 50; index += 1) {
    const issue = issueOf(error, `allowedIps.${index}`);
    if (issue !== undefined) {
      const line = index + 1;
      return t`Line ${line} ${issue}`;
    }
  }
  return undefined;
}
