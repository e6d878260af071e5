import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, plural, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import {
  Ban,
  CheckCircle2,
  ChevronRight,
  CirclePause,
  CreditCard,
  KeyRound,
  type LucideIcon,
  Mail,
  Phone,
  Sparkles,
  TrendingDown,
  TriangleAlert,
  Unplug,
  Webhook,
} from 'lucide-react';
import type { Tone } from '#console/components/badge.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIsPayer, useStop } from '#console/api/workspace.ts';
import type { Search } from '#console/lib/search.ts';
import { isDoubted, type Line, lineName, lineState, needsAttention } from '#console/lib/line.ts';
import { statusName } from '#console/lib/status-names.ts';

type Item = ResponseOf<'GET /api/attention'>['items'][number];

interface Matter {
  key: string;
  icon: LucideIcon;
  tone: Extract<Tone, 'accent' | 'warn' | 'bad'>;
  title: string;
  text: string;
  to: string;
  search?: Search;
}

const TONES = {
  accent: 'bg-accent-soft text-accent-ink',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
};

/** What waits for a person: drafts, unanswered conversations, lines that do not send, failures. */
export function Attention({ lines }: { lines: readonly Line[] | undefined }) {
  const { t } = useLingui();
  const isPayer = useIsPayer();
  const stop = useStop();
  const refetchInterval = useLiveInterval();
  const attention = useRead('GET /api/attention', {}, { refetchInterval });
  if (attention.error && !attention.data)
    return <ErrorState error={attention.error} retry={() => void attention.refetch()} />;
  if (!lines || !attention.data) return <SkeletonRows rows={3} />;

  const matters: Matter[] = [];
  if (stop === 'suspended') {
    matters.push({
      key: 'suspended',
      icon: CirclePause,
      tone: 'bad',
      title: t`The workspace is suspended`,
      text: t`The operator of this installation has suspended it. Nothing is sent, and messages keep their place.`,
      to: '/lines',
    });
  }
  if (stop === 'past_due' || stop === 'unsubscribed') {
    matters.push({
      key: stop,
      icon: CreditCard,
      tone: 'bad',
      ...(stop === 'past_due'
        ? {
            title: t`The subscription is past due`,
            text: t`Nothing is sent until it is paid. Messages keep their place.`,
          }
        : {
            title: t`The subscription has ended`,
            text: t`Nothing is sent until there is a new one. Messages keep their place.`,
          }),
      ...(isPayer ? { to: '/agency', search: { tab: 'billing' } } : { to: '/messages' }),
    });
  }
  for (const { kind, count } of attention.data.items) {
    const matter = matterOf(kind, count);
    if (matter) matters.push({ key: kind, ...matter });
  }
  const troubled = lines.filter((line) => needsAttention(line) || isDoubted(line));
  const { length: count } = troubled;
  if (count > MOST_LINES) {
    matters.push({
      key: 'lines',
      icon: Phone,
      tone: 'warn',
      title: plural(count, { one: '# line needs attention', other: '# lines need attention' }),
      text: t`They are paused, down or not set up, or open fewer new conversations.`,
      to: '/lines',
      search: { state: 'trouble' },
    });
  } else matters.push(...troubled.map(ofLine));

  if (matters.length === 0) {
    return (
      <EmptyState
        icon={<CheckCircle2 className="size-5 text-good" aria-hidden="true" />}
        title={t`Nothing needs you right now`}
      >
        <Trans>Drafts, replies and problems appear here.</Trans>
      </EmptyState>
    );
  }
  return (
    <ul className="divide-y divide-line">
      {matters.map(({ key, icon: Icon, tone, title, text, to, search }) => (
        <li key={key}>
          <Link
            to={to}
            search={(search ?? {}) as never}
            className="flex items-center gap-3 px-4 py-3 -outline-offset-2 hover:bg-hover"
          >
            <span className={`flex size-8 shrink-0 items-center justify-center rounded-lg ${TONES[tone]}`}>
              <Icon className="size-4" aria-hidden="true" />
            </span>
            <span className="min-w-0 flex-1">
              <span className="block font-medium">{title}</span>
              <span className="block text-muted">{text}</span>
            </span>
            <ChevronRight className="size-4 shrink-0 text-muted" aria-hidden="true" />
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** More lines than these are one matter, so that they do not hide the others. */
const MOST_LINES = 5;

function ofLine(line: Line): Matter {
  const state = lineState(line);
  const place = { to: '/lines', search: { line: line._id }, tone: 'warn' } as const;
  const title = `${lineName(line)}: ${statusName(state).toLowerCase()}`;
  if (!needsAttention(line)) {
    const { score } = line.reputation;
    const text = t`Its reputation is ${score} of 100, so it opens fewer new conversations.`;
    return { key: `reputation of ${line._id}`, icon: TrendingDown, title, text, ...place };
  }
  const known = LINE_TEXTS[state];
  const text = known ? i18n._(known) : t`The line does not send as it should.`;
  return { key: line._id, icon: Phone, title, text, ...place };
}

/** null: it is shown in another form, lines each by itself. */
function matterOf(kind: Item['kind'], count: number): Omit<Matter, 'key'> | null {
  switch (kind) {
    case 'suspected_opt_outs':
      return {
        icon: Ban,
        tone: 'warn',
        title: plural(count, { one: '# suspected opt-out', other: '# suspected opt-outs' }),
        text: t`Somebody may have asked for no more messages. Campaigns to them wait for your decision.`,
        to: '/compliance',
        search: { tab: 'opt-outs' },
      };
    case 'unanswered':
      return {
        icon: Mail,
        tone: 'accent',
        title: plural(count, {
          one: '# conversation is unanswered',
          other: '# conversations are unanswered',
        }),
        text: t`The contact wrote last.`,
        to: '/inbox',
        search: { filter: 'unanswered' },
      };
    case 'drafts':
      return {
        icon: Sparkles,
        tone: 'accent',
        title: plural(count, { one: '# draft waits for you', other: '# drafts wait for you' }),
        text: t`Replies written by the copilot: approve, edit or reject them.`,
        to: '/inbox',
        search: { filter: 'drafts' },
      };
    case 'failing_webhooks':
      return {
        icon: Webhook,
        tone: 'warn',
        title: plural(count, { one: '# webhook fails', other: '# webhooks fail' }),
        text: t`Its endpoint did not accept the last delivery.`,
        to: '/webhooks',
      };
    case 'broken_crms':
      return {
        icon: Unplug,
        tone: 'warn',
        title: plural(count, { one: '# CRM refuses its token', other: '# CRMs refuse their tokens' }),
        text: t`Nothing is taken over from it or told to it until it is connected again.`,
        to: '/settings',
      };
    case 'expiring_keys':
      return {
        icon: KeyRound,
        tone: 'warn',
        title: plural(count, { one: '# API key ends soon', other: '# API keys end soon' }),
        text: t`Make a new one before the programs that use it are refused.`,
        to: '/settings',
        search: { tab: 'keys' },
      };
    case 'failed_messages':
      return {
        icon: TriangleAlert,
        tone: 'bad',
        title: plural(count, {
          one: '# message failed in the last 24 hours',
          other: '# messages failed in the last 24 hours',
        }),
        text: t`See why each of them failed.`,
        to: '/messages',
        search: { status: 'failed' },
      };
    case 'suspended':
    case 'unpaid':
    case 'lines':
    case 'throttled_lines':
      return null;
  }
}

const LINE_TEXTS: Record<string, MessageDescriptor> = {
  awaiting_payment: msg`It is set up once it is paid for.`,
  failed: msg`It could not be set up. Try again or cancel the request.`,
  paused: msg`It sends nothing until it is resumed; its messages wait.`,
  degraded: msg`The last check failed. Messages may be late.`,
  down: msg`Checks of the line fail. Its messages wait until it is back.`,
};
