import { t } from '@lingui/core/macro';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { numberOf } from '#console/lib/format.ts';

type LimitName = ResponseOf<'GET /api/workspace/limits'>['limits'][number]['limit'];

/** The share of a limit above which a warning is shown. */
const NEAR = 0.8;

const TEXTS = {
  apiKeys: (used: string, max: string) =>
    t`${used} of at most ${max} API keys that are neither revoked nor expired.`,
  campaigns: (used: string, max: string) => t`${used} of at most ${max} campaigns that are not archived.`,
  customFields: (used: string, max: string) => t`${used} of at most ${max} distinct names of custom fields.`,
  lists: (used: string, max: string) => t`${used} of at most ${max} lists, besides Quick Sends.`,
  pools: (used: string, max: string) => t`${used} of at most ${max} pools of lines.`,
  rules: (used: string, max: string) => t`${used} of at most ${max} rules.`,
  webhooks: (used: string, max: string) => t`${used} of at most ${max} webhooks.`,
} satisfies Partial<Record<LimitName, (used: string, max: string) => string>>;

/** Warns that a workspace has nearly reached a limit. */
export function NearLimit({ limit }: { limit: keyof typeof TEXTS }) {
  const { data } = useRead('GET /api/workspace/limits', {});
  const found = data?.limits.find((one) => one.limit === limit);
  if (!found || found.used < found.max * NEAR) return null;
  return (
    <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      {TEXTS[limit](numberOf(found.used), numberOf(found.max))}
    </p>
  );
}
