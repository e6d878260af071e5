import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import {
  Ban,
  CornerDownLeft,
  FileCheck,
  FileX,
  LogIn,
  LogOut,
  type LucideIcon,
  Phone,
  RotateCcw,
  Send,
  Split,
  StickyNote,
  Workflow,
} from 'lucide-react';
import { type ReactNode, Suspense } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useReadPages } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { classes } from '#console/components/class-names.ts';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, clockOf, dayNameOf, fullTimeOf, timeOf, wordsOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { locale } from '#console/lib/locale.ts';
import { pagePart } from '#console/lib/page-part.ts';
import { signOf } from '#console/lib/reactions.ts';
import { Attachment } from '../inbox/attachment.tsx';
import { REACTED } from '../inbox/conversations.ts';
import { shownText } from '../inbox/note.tsx';
import { CallRecording } from './call-recording.tsx';
import type { HistoryEntry, Lead } from './lead.ts';

const Judged = pagePart('contacts/judged', () => import('./judged.tsx'));
const LeadCampaigns = pagePart('contacts/lead-campaigns', () => import('./lead-campaigns.tsx'));

/** Everything that happened with a contact, newest first. */
export default function LeadHistory({ lead }: { lead: Lead }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const timeline = useReadPages(
    'GET /api/leads/{id}/timeline',
    { params: { id: lead._id } },
    { refetchInterval: useLiveInterval() },
  );
  const entries = timeline.data?.pages.flatMap((page) => page.entries);
  if (!entries && timeline.error)
    return <ErrorState error={timeline.error} retry={() => void timeline.refetch()} />;
  if (!entries) return <SkeletonRows rows={5} />;
  if (entries.length === 0)
    return (
      <EmptyState title={t`Nothing yet`}>
        <Trans>Messages, campaigns, consents, opt-outs, notes and calls appear here.</Trans>
      </EmptyState>
    );
  const campaignIds = underWay(entries);
  return (
    <div className="flex flex-col gap-5">
      {campaignIds.length > 0 && (
        <Suspense>
          <LeadCampaigns lead={lead} campaignIds={campaignIds} />
        </Suspense>
      )}
      {byDay(entries, zone).map(({ day, entries: ofDay }) => (
        <section key={day} aria-label={day}>
          <h3 className="mb-2 text-xs font-medium text-muted">{day}</h3>
          <ol className="flex flex-col gap-4 border-l border-line pl-5">
            {ofDay.map((entry) => (
              <EntryItem key={keyOf(entry)} entry={entry} />
            ))}
          </ol>
        </section>
      ))}
      {timeline.hasNextPage && (
        <Button
          small
          className="self-center"
          busy={timeline.isFetchingNextPage}
          onClick={() => void timeline.fetchNextPage()}
        >
          <Trans>Show earlier</Trans>
        </Button>
      )}
    </div>
  );
}

/** The campaigns that the contact has joined and not left. */
function underWay(entries: readonly HistoryEntry[]): string[] {
  const of = (type: 'campaign_joined' | 'campaign_left'): string[] =>
    entries.flatMap((entry) => (entry.type === type ? [entry.campaign._id] : []));
  const left = of('campaign_left');
  return of('campaign_joined').filter((id) => !left.includes(id));
}

/** Entries of one day together, in their order. */
function byDay(entries: readonly HistoryEntry[], zone: string): { day: string; entries: HistoryEntry[] }[] {
  const days = Map.groupBy(entries, ({ at }) => dayNameOf(at, zone));
  return [...days].map(([day, ofDay]) => ({ day, entries: ofDay }));
}

function keyOf(entry: HistoryEntry): string {
  switch (entry.type) {
    case 'message':
      return entry.message.messageId;
    case 'campaign_joined':
    case 'campaign_left':
      return `${entry.type} ${entry.campaign._id}`;
    case 'campaign_decided':
      return `${entry.type} ${entry.campaign._id} ${entry.stepId} ${entry.at}`;
    case 'rule':
      return `${entry.type} ${entry.rule._id} ${entry.at}`;
    case 'consent':
      return entry.consent._id;
    case 'opt_out':
      return entry.optOut._id;
    case 'note':
      return entry.note._id;
    case 'call':
      return entry.call.callId;
  }
}

function EntryItem({ entry }: { entry: HistoryEntry }) {
  const zone = useTimeZone();
  const { icon: Icon, title, about, text, tone, children } = shownOf(entry);
  return (
    <li className="relative">
      <span
        className={classes(
          'absolute top-0 -left-8 flex size-6 items-center justify-center rounded-full border border-line bg-surface',
          tone ?? 'text-muted',
        )}
      >
        <Icon className="size-3.5" aria-hidden="true" />
      </span>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-medium">{title}</span>
        {about}
        <time
          dateTime={entry.at}
          title={fullTimeOf(entry.at, zone)}
          className="ml-auto shrink-0 text-xs text-muted"
        >
          {timeOf(entry.at, zone)}
        </time>
      </p>
      {text && <p className="mt-0.5 wrap-anywhere whitespace-pre-wrap text-muted">{text}</p>}
      {children && <div className="mt-1.5 flex flex-col items-start gap-1.5">{children}</div>}
    </li>
  );
}

interface Shown {
  icon: LucideIcon;
  title: string;
  about?: ReactNode;
  text?: string;
  tone?: string;
  children?: ReactNode;
}

function shownOf(entry: HistoryEntry): Shown {
  switch (entry.type) {
    case 'message':
      return messageOf(entry);
    case 'campaign_joined': {
      const { name } = entry.campaign;
      return { icon: LogIn, title: t`Joined ${name}` };
    }
    case 'campaign_decided': {
      const hasMore = entry.step !== 'wait' && entry.step !== 'end';
      return { icon: Split, title: decidedText(entry), ...(hasMore && reasonOf(entry)) };
    }
    case 'campaign_left': {
      const { name } = entry.campaign;
      return {
        icon: LogOut,
        title: t`Left ${name}`,
        text: entry.reason === null ? t`All messages were sent` : nameIn(LEFT, entry.reason),
      };
    }
    case 'rule': {
      const { name } = entry.rule;
      return { icon: Workflow, title: t`Rule: ${name}`, ...reasonOf(entry) };
    }
    case 'consent':
      return consentOf(entry.consent);
    case 'opt_out':
      return optOutOf(entry.optOut);
    case 'note': {
      const author = entry.note.author.name ?? t`a colleague`;
      return {
        icon: StickyNote,
        title: t`Note by ${author}`,
        text: shownText(entry.note),
        tone: 'text-warn',
      };
    }
    case 'call':
      return callOf(entry.call);
  }
}

/** Why something was decided. The API says it in English, with what it has found. */
const reasonOf = ({
  why,
  judged,
}: Extract<HistoryEntry, { type: 'campaign_decided' | 'rule' }>): Pick<Shown, 'text' | 'children'> =>
  locale === 'en'
    ? { text: why }
    : judged.length === 0
      ? {}
      : {
          children: (
            <Suspense>
              <Judged judged={judged} />
            </Suspense>
          ),
        };

/** What a step has decided. */
function decidedText({
  campaign: { name },
  step,
  outcome,
}: Extract<HistoryEntry, { type: 'campaign_decided' }>): string {
  switch (step) {
    case 'wait':
      return t`${name}: the wait is over`;
    case 'wait_until':
      if (outcome === 'continued') return t`${name}: what it waited for has happened`;
      return outcome === 'ended'
        ? t`${name}: has waited long enough, and ends`
        : t`${name}: has waited long enough, and goes on`;
    case 'branch':
      return outcome === 'else' ? t`${name}: takes no branch` : t`${name}: takes the branch “${outcome}”`;
    case 'do':
      return t`${name}: changes the contact`;
    case 'end':
      return t`${name}: comes to its end`;
    case 'stop':
      return t`${name}: a condition to stop holds`;
  }
}

/** Why somebody has left a campaign before its end. */
const LEFT: Record<string, MessageDescriptor> = {
  reply: msg`The contact replied`,
  opt_out: msg`The contact opted out`,
  suppressed: msg`The agency suppresses the address`,
  failed: msg`A message could not be delivered`,
  no_address: msg`There is no address for the channel`,
  no_consent: msg`The contact has not consented`,
  removed: msg`Removed from the campaign`,
  stop_condition: msg`A condition to stop was met`,
};

/** Who or what says that a contact has consented or opted out. */
const SOURCES: Record<string, MessageDescriptor> = {
  form: msg`Form`,
  import: msg({ message: 'Import', context: 'source' }),
  keyword: msg`Keyword`,
  verbal: msg`Verbal`,
  api: msg`Api`,
  reply: msg`Reply`,
  unsubscribe: msg`Unsubscribe`,
  carrier: msg`Carrier`,
  complaint: msg`Complaint`,
};

function nameIn(names: Record<string, MessageDescriptor>, code: string): string {
  const known = names[code];
  return known ? i18n._(known) : wordsOf(code);
}

function messageOf({ message, address }: Extract<HistoryEntry, { type: 'message' }>): Shown {
  const { direction, status, readAt, attachments, voiceNote, reactions, message: text } = message;
  const name = addressName(address);
  return {
    icon: direction === 'in' ? CornerDownLeft : Send,
    title: direction === 'in' ? t`From ${name}` : t`To ${name}`,
    about: (
      <>
        {status !== null && <Status status={status === 'delivered' && readAt !== null ? 'read' : status} />}
        {reactions.map((each) => (
          <Reaction
            key={`${each.from}${each.part ?? 0}${each.reaction}${each.emoji ?? ''}`}
            reaction={each}
          />
        ))}
      </>
    ),
    text,
    ...(direction === 'in' && { tone: 'text-accent-ink' }),
    children:
      attachments.length > 0 &&
      attachments.map((file) => <Attachment key={file.url} file={file} isVoiceNote={voiceNote} />),
  };
}

function Reaction({ reaction }: { reaction: Parameters<typeof signOf>[0] }) {
  const { t } = useLingui();
  const what = t(REACTED[reaction.reaction]);
  const said = t`The contact ${what}`;
  return (
    <span title={said}>
      <span aria-hidden="true">{signOf(reaction)}</span>
      <span className="sr-only">{said}</span>
    </span>
  );
}

function consentOf({
  status,
  channel,
  source,
  evidence,
  address,
}: Extract<HistoryEntry, { type: 'consent' }>['consent']): Shown {
  const isGranted = status === 'granted';
  const where = channel === 'any' ? addressName(address) : `${addressName(address)}, ${CHANNELS[channel]}`;
  return {
    icon: isGranted ? FileCheck : FileX,
    title: isGranted ? t`Consent given` : t`Consent withdrawn`,
    text: [where, nameIn(SOURCES, source), evidence].filter(Boolean).join(' · '),
    tone: isGranted ? 'text-good' : 'text-bad',
  };
}

function optOutOf({
  change,
  address,
  source,
  message,
}: Extract<HistoryEntry, { type: 'opt_out' }>['optOut']): Shown {
  const isOut = change === 'opted_out';
  const how = message === null ? nameIn(SOURCES, source) : `“${message}”`;
  return {
    icon: isOut ? Ban : RotateCcw,
    title: isOut ? t`Opted out` : t`Opted in again`,
    text: `${addressName(address)} · ${how}`,
    tone: isOut ? 'text-bad' : 'text-good',
  };
}

function callOf(call: Extract<HistoryEntry, { type: 'call' }>['call']): Shown {
  const { from, to, status, durationSec, hangupCause, recordingUrl, recordingFailure } = call;
  return {
    icon: Phone,
    title: t`Call`,
    about: <Status status={status} />,
    text: [
      `${addressName(from)} → ${addressName(to)}`,
      durationSec !== undefined && clockOf(durationSec),
      hangupCause,
      recordingFailure,
    ]
      .filter(Boolean)
      .join(' · '),
    ...(recordingUrl !== null && { children: <CallRecording url={recordingUrl} /> }),
  };
}
